"""The doctor's checks of budgets: each must be able to stop somebody."""

from __future__ import annotations

from collections.abc import Iterator

from habakkuk.accounts.store import people
from habakkuk.accounts.types import Role
from habakkuk.conversations.budgets import caps_of
from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.db.engine import Database
from habakkuk.llm.prices import Prices
from habakkuk.llm.selection import select
from habakkuk.ops.findings import Finding, ok, warn

_NAME = "budgets"


def check_prices(settings: Settings) -> Iterator[Finding]:
    """Check that every model of a config with budgets has a price: what has none is not asked."""
    if not caps_of(settings.config):
        return
    try:
        selection = select(settings)
    except ConfigurationError:
        # The check of the model says it.
        return
    prices = Prices(settings.config, selection.endpoints)
    used = {ref for models in selection.agents.values() for ref in models.chain}
    unknown = sorted(str(ref) for ref in used if not prices.is_known(ref))
    if unknown:
        refused = settings.config.budgets.unpriced == "refuse"
        so = "is not asked where a budget holds" if refused else "counts nothing in a budget"
        found = f"nobody knows what {', '.join(unknown)} costs, so it {so}"
        yield warn(_NAME, found, "set its price under `pricing:` in config.yaml (docs/usage.md)")
    else:
        yield ok(_NAME, "the price of every model is known")


def check_people(settings: Settings, database: Database) -> Iterator[Finding]:
    """Check that every budget of a person or a role is somebody's."""
    known = {person.user.name for person in people.listed(database)} | set(Role)
    for name in settings.config.budgets.users:
        if name not in known:
            advice = "name a person as `habakkuk users list` does, or owner or member"
            yield warn(_NAME, f"budgets.users.{name}: nobody is called that", advice)
