"""What the rows about approvals share: an open one, somebody else, and whether it is untouched."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.accounts.types import Role, User
from habakkuk.agent.approval.types import Approval
from tests.fakes.stack import Stack, until


def asked(stack: Stack) -> Approval:
    """Let a call of the owner's turn wait for approval, long enough to have been read."""
    stack.say("[[tool effect {}]] work", agent="careful", attended=True)
    until(lambda: stack.container.approvals.open(stack.owner))
    stack.read_questions()
    (approval,) = stack.container.approvals.open(stack.owner)
    return approval


def still_open(stack: Stack, approval: Approval) -> bool:
    """Whether nobody has answered, and nothing has run."""
    found = stack.container.approvals.get(stack.owner, approval.id)
    return found.outcome is None and stack.trace("effects.log", "careful") == []


def person(stack: Stack, name: str, role: Role) -> User:
    """Add somebody to the server."""
    stack.container.database.run(
        text("INSERT INTO users (id, name, role) VALUES (:id, :id, :role)"), id=name, role=role
    )
    return User(name, name, role)
