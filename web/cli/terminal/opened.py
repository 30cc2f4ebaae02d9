"""Open the house for one command: as the owner, on the databases that run."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from habakkuk.core.errors import ConfigurationError, HabakkukError

if TYPE_CHECKING:
    from habakkuk.accounts.types import Principal
    from habakkuk.bootstrap import Container
    from habakkuk.core.config.settings import Settings

DEBUG = "habakkuk.debug"
_CONNECTIONS = 4


def read_settings() -> Settings:
    """Return the settings of this home, the local model of a running `up` among them.

    Raises ConfigurationError.
    """
    from habakkuk.core.config.settings import load_settings  # noqa: PLC0415 - not for --help
    from habakkuk.llm.selection import LOCAL_URL  # noqa: PLC0415 - not for --help
    from habakkuk.ops.run_file import read_run  # noqa: PLC0415 - not for --help

    settings = load_settings()
    run = read_run(settings.home)
    local = run.local_model_url if run else None
    if local is None or settings.environment.get(LOCAL_URL):
        return settings
    # `up` tells it to the processes that it starts; this one was not started by it.
    values = {**settings.environment.values, LOCAL_URL: local}
    return dataclasses.replace(
        settings, environment=dataclasses.replace(settings.environment, values=values)
    )


def running_settings() -> Settings:
    """Return the settings with the URLs of the databases. Raises ConfigurationError."""
    from habakkuk.ops.run_file import resolve_settings  # noqa: PLC0415 - not for --help

    return resolve_settings(read_settings())


@contextmanager
def opened() -> Iterator[Container]:
    """Give a command the parts of a process. Raises ConfigurationError."""
    from habakkuk.bootstrap import build  # noqa: PLC0415 - not for --help

    settings = running_settings()
    _quiet_logs(settings)
    container = build(settings, name="cli", pool_size=_CONNECTIONS)
    try:
        yield container
    except (HabakkukError, OSError, click.exceptions.Exit, click.ClickException):
        raise
    except Exception as error:
        _explain_schema(settings, error)
        raise
    finally:
        container.close()


def owner(container: Container) -> Principal:
    """Return the owner, who may do everything: whoever can read the home is the owner."""
    from habakkuk.accounts.types import Principal, Scope  # noqa: PLC0415 - not for --help

    return Principal(container.accounts.owner(), frozenset(Scope))


def _explain_schema(settings: Settings, error: Exception) -> None:
    """Say so when a query failed because the database is of another revision than the code."""
    from habakkuk.ops.schema import schema_fault  # noqa: PLC0415 - not for --help

    fault = schema_fault(settings)
    if fault is not None:
        raise ConfigurationError(fault) from error


def _quiet_logs(settings: Settings) -> None:
    """Keep logs away from a person's terminal: faults alone, all of it with --debug."""
    from habakkuk.core.log import configure_logging  # noqa: PLC0415 - not for --help
    from habakkuk.core.redaction import Redactor  # noqa: PLC0415 - not for --help

    context = click.get_current_context(silent=True)
    debug = bool(context and context.meta.get(DEBUG))
    level = "debug" if debug else "error"
    configure_logging(level, Redactor(settings.secrets), process="cli")
    logging.getLogger().setLevel(logging.INFO if debug else logging.ERROR)
