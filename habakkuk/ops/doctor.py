"""`doctor`: every check, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.db.engine import Database
from habakkuk.ops import machine_checks, server_checks
from habakkuk.ops.budget_checks import check_people, check_prices
from habakkuk.ops.channel_checks import check_channels
from habakkuk.ops.checkpoint_checks import check_checkpoints
from habakkuk.ops.findings import Finding, Verdict, fail, ok
from habakkuk.ops.run_file import resolve_settings
from habakkuk.ops.sandbox_checks import check_sandboxes


def examine(read: Callable[[], Settings]) -> Iterator[Finding]:
    """Yield every finding as it is known; `read` reads the settings, which may be wrong.

    A check never stops the others.
    """
    yield machine_checks.check_python()
    try:
        settings = read()
    except ConfigurationError as error:
        yield fail("config", str(error), "correct config.yaml or the environment")
        return
    yield machine_checks.check_home(settings.home)
    yield machine_checks.check_secrets(settings.home)
    yield ok("config", str(settings.home / "config.yaml"))
    yield machine_checks.check_disk(settings.home)
    yield machine_checks.check_agent_wall(settings.home)
    yield from check_sandboxes(settings)
    yield check_checkpoints(settings)
    yield server_checks.check_model(settings)
    yield from check_prices(settings)
    yield from check_channels(settings)
    yield from _running(settings)


def _running(settings: Settings) -> Iterator[Finding]:
    """Yield what can be said of the servers and processes, once they are found."""
    try:
        settings = resolve_settings(settings)
    except ConfigurationError as error:
        yield fail("running", str(error), "./scripts/up")
        return
    database = Database(str(settings.database_url), pool_size=1, name="habakkuk doctor")
    try:
        yield from server_checks.check_postgres(database)
        schema = server_checks.check_schema(settings)
        yield schema
        yield from server_checks.check_redis(str(settings.redis_url))
        if schema.verdict is Verdict.OK:
            yield server_checks.check_workers(database, settings.config_hash)
            yield server_checks.check_keeper(database)
            yield from check_people(settings, database)
        else:
            yield fail("workers", "unknown without the schema", schema.advice)
    finally:
        database.dispose()
    try:
        yield server_checks.check_web(settings)
    except ConfigurationError as error:
        yield fail("web", str(error), "see HABAKKUK_LISTEN")
