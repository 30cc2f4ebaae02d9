"""A database URL for PostgreSQL's own programs: as variables, since arguments are seen by all."""

from __future__ import annotations

from sqlalchemy.engine import make_url

from habakkuk.core.errors import ConfigurationError

# https://www.postgresql.org/docs/current/libpq-envars.html
_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "passfile": "PGPASSFILE",
    "options": "PGOPTIONS",
    "application_name": "PGAPPNAME",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "channel_binding": "PGCHANNELBINDING",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
    "gssencmode": "PGGSSENCMODE",
}


def libpq_variables(url: str) -> dict[str, str]:
    """Return the environment that makes pg_dump and psql connect as `url` says.

    Raises ConfigurationError for an option that has no variable.
    """
    parsed = make_url(url)
    parts = parsed.translate_connect_args(username="user", database="dbname")
    given = {**parts, **{name: _one(value) for name, value in parsed.query.items()}}
    unknown = sorted(given.keys() - _VARIABLES.keys())
    if unknown:
        raise ConfigurationError(
            f"DATABASE_URL: the option {unknown[0]!r} cannot be given to PostgreSQL's programs;"
            f" known ones: {', '.join(_VARIABLES)}"
        )
    return {_VARIABLES[name]: str(value) for name, value in given.items()}


def _one(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ",".join(value)
