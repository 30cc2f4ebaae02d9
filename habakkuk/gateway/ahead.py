"""The part of a command that takes long: done before its conversation is locked."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from habakkuk.commands.contract import Ahead, Command, Prepared
from habakkuk.commands.registry import allowed
from habakkuk.conversations.store import addresses, chat
from habakkuk.db.engine import Database
from habakkuk.gateway.types import Inbound


def prepared(
    database: Database, put: Callable[[BinaryIO, str], str], command: Command, inbound: Inbound
) -> Prepared | None:
    """Do it and return what came of it; None where there is none, or it would be for nothing."""
    if command.ahead is None or not allowed(command, inbound.user.role):
        return None
    if inbound.remote_id is not None:
        with database.snapshot() as work:
            # Storms are repeats for the most part.
            if chat.by_remote_id(work, inbound.address.account, inbound.remote_id) is not None:
                return None
    found = addresses.find(database, inbound.address)
    return command.ahead(Ahead(database, found, put)) if found is not None else None
