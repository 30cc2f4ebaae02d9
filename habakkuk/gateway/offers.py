"""What platforms are told of an account: its commands, and where to bring messages.

One registry feeds /help and the lists of all platforms (seed, Channels: chat commands).
"""

from __future__ import annotations

from collections.abc import Sequence

from habakkuk.accounts.types import Role
from habakkuk.channels.contract import Feature
from habakkuk.channels.messages import OfferedCommand
from habakkuk.channels.registry import Line
from habakkuk.commands.registry import CommandRegistry, allowed
from habakkuk.core.ids import derive
from habakkuk.db.engine import Database
from habakkuk.gateway.store import cursors
from habakkuk.gateway.types import Cursor

_OFFERED = "offered"


def offered() -> Sequence[OfferedCommand]:
    """Return the commands that any member may use, by name."""
    found = CommandRegistry().all.values()
    return [
        OfferedCommand(one.name, one.help)
        for one in sorted(found, key=lambda one: one.name)
        if allowed(one, Role.MEMBER)
    ]


def offer(database: Database, line: Line, *, again: bool = False) -> bool:
    """Tell a platform its commands when they are others than it was told, or `again`.

    False for a platform without such a list, or one that knows them. Raises NotSent. A kill before
    it is noted has the same list told twice, which changes nothing.
    """
    if Feature.COMMANDS not in line.adapter.manifest.features:
        return False
    commands = offered()
    texts = [part for one in commands for part in (one.name, one.help)]
    digest = derive("offer", line.adapter.identity, *texts)
    known = cursors.load(database, line.channel, line.name, _OFFERED)
    if not again and known is not None and known.get("digest") == digest:
        return False
    line.adapter.offer(commands)
    cursors.save_alone(database, line.channel, line.name, Cursor(_OFFERED, {"digest": digest}))
    return True
