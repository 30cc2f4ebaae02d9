"""The address of a login link, and the one that `up` shows at its end."""

from __future__ import annotations

from habakkuk.accounts.logins import LINK_MINUTES, Logins
from habakkuk.accounts.service import Accounts
from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.ops.console import Console
from habakkuk.ops.run_file import browser_address, read_run


def link_address(settings: Settings, secret: str) -> str:
    """Return where a link leads: to the public address, else to this machine's.

    The secret stands after the #, which browsers keep to themselves: it is in no log.
    """
    return f"{_address(settings)}/login#{secret}"


def owner_link(settings: Settings) -> str:
    """Return a new login link for the owner. Raises ConfigurationError without a database."""
    if settings.database_url is None:
        raise ConfigurationError("DATABASE_URL is not set; start with ./scripts/up, or set it")
    database = Database(settings.database_url, pool_size=1, name="habakkuk login")
    try:
        return link_address(settings, Logins(database).make_link(Accounts(database).owner()))
    finally:
        database.dispose()


def say_owner_link(console: Console, settings: Settings) -> None:
    """Show a new login link for the owner, or how to make one when that fails just now."""
    try:
        console.say(f"  Sign in once, within {LINK_MINUTES} minutes: {owner_link(settings)}")
    except DatabaseAway:
        console.say("  Sign in with a link from: ./scripts/habakkuk login-link")
    console.say()


def _address(settings: Settings) -> str:
    if settings.config.public_url is not None:
        return settings.config.public_url
    if settings.environment.get("HABAKKUK_LISTEN") is None:
        run = read_run(settings.home)
        if run is not None:
            return run.address
    return browser_address(settings.listen)
