"""/budget: what may be spent today, and an owner's way to raise it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from habakkuk.accounts.types import Role
from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations import budgets
from habakkuk.conversations.budgets import dollars, heading, label
from habakkuk.conversations.store.spend import EVERYBODY, Standing
from habakkuk.core.errors import Forbidden, Invalid

_USAGE = "write /budget, or /budget raise day 5, user:NAME or agent:NAME in the place of day"


@command("budget", usage="[raise SCOPE AMOUNT]")
def budget(context: CommandContext, arguments: str) -> str:
    """Show what may still be spent today; an owner may raise it for the rest of the day."""
    now = datetime.now(UTC)
    if not arguments:
        return _shown(context, now)
    word, _, rest = arguments.partition(" ")
    # A person's name may have spaces.
    scope, _, written = rest.strip().rpartition(" ")
    if word.lower() != "raise" or not scope:
        raise Invalid(_USAGE)
    if context.user.role is not Role.OWNER:
        raise Forbidden("only an owner can raise a budget")
    cap = budgets.raise_cap(context.work, context.config, now, scope.strip(), _amount(written))
    return f"Raised. {_line(cap)}"


def _shown(context: CommandContext, now: datetime) -> str:
    caps = budgets.standings(context.work, context.config, now)
    seen = [cap for cap in caps if _concerns(context, cap)]
    if not seen:
        return "No budget limits what you may spend."
    ends = budgets.day_of(context.config, now).ends
    renewal = f"Budgets renew at {ends:%H:%M} ({context.config.timezone})."
    return "\n".join([*map(_line, seen), renewal])


def _concerns(context: CommandContext, cap: Standing) -> bool:
    """Whether a cap is the sender's business: an owner's all are, others' what may stop them."""
    own = {EVERYBODY, f"user:{context.user.id}", f"agent:{context.conversation.agent}"}
    return context.user.role is Role.OWNER or cap.scope in own


def _line(cap: Standing) -> str:
    parts = [f"{dollars(cap.spent)} of {dollars(cap.cap)} spent today"]
    if cap.held:
        parts.append(f"{dollars(cap.held)} held for answers under way")
    if cap.raised:
        parts.append(f"raised by {dollars(cap.raised)} today")
    return f"{heading(cap)} ({label(cap)}): {', '.join(parts)}."


def _amount(written: str) -> Decimal:
    try:
        return Decimal(written.strip().removeprefix("$"))
    except InvalidOperation as error:
        raise Invalid(f"{written!r} is no amount in US dollars; {_USAGE}") from error
