"""Alembic's environment: a run on what the caller gives to connect with, or SQL to read."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, create_engine

from habakkuk.core.config.settings import load_settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.db.models import Base


def _url() -> str:
    configured = context.config.get_main_option("sqlalchemy.url")
    url = configured or load_settings().database_url
    if url is None:
        raise ConfigurationError("DATABASE_URL is not set: name the database to migrate")
    return url


def _run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    context.configure(dialect_name="postgresql", target_metadata=Base.metadata, literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()
else:
    given = context.config.attributes.get("connection")
    if isinstance(given, Connection):
        _run(given)
    else:
        engine = given or create_engine(_url())
        with engine.connect() as fresh:
            _run(fresh)
