"""The database's schema as an operator sees it: bring it up to date, or say what is wrong."""

from __future__ import annotations

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.db.revision import current_revision, expected_revision


def migrate_database(settings: Settings) -> str:
    """Apply what is missing and return the revision.

    Raises DatabaseAway, and ConfigurationError when no database is named.
    """
    url = _url(settings)
    # Asked first: the migrator's own errors of a server that is away are many.
    found = current_revision(url)
    if found == expected_revision():
        return found
    # Ten megabytes that only a new database or a new release needs.
    from habakkuk.db.migrate import migrate  # noqa: PLC0415 - see above

    return migrate(url)


def schema_fault(settings: Settings) -> str | None:
    """Say what to do when the database has not the schema of this code; None when it has.

    Raises DatabaseAway.
    """
    url = _url(settings)
    found, needed = current_revision(url), expected_revision()
    if found == needed:
        return None
    if found is None:
        return "The database has no tables yet; run `habakkuk migrate`"
    return (
        f"The database has the schema {found}, this code needs {needed}; run `habakkuk migrate`,"
        " or the code that made that schema"
    )


def _url(settings: Settings) -> str:
    if settings.database_url is None:
        raise ConfigurationError("DATABASE_URL is not set; start with ./scripts/up, or set it")
    return settings.database_url
