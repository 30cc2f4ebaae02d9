"""The bot of the fake Discord, its server, its channels, and what people see there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

BOT = {
    "id": "100000000000000001",
    "username": "hab",
    "global_name": "Hab",
    "discriminator": "0",
    "avatar": None,
    "bot": True,
}
GUILD = "200000000000000001"
ROOM = "300000000000000001"
BOT_ROLE = "400000000000000001"


@dataclass(frozen=True)
class Shown:
    """One message of the bot as people see it."""

    id: str
    chat: str
    text: str
    asked: Mapping[str, Any]
    file: bytes | None = None

    @property
    def key(self) -> str:
        """The nonce under which it was sent."""
        return str(self.asked.get("nonce", ""))


@dataclass
class Room:
    """One channel: what was written in it, the oldest first."""

    id: str
    guild: str | None = None
    type: int = 0
    name: str = "general"
    joined: bool = False
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def described(self) -> dict[str, Any]:
        """What the gateway says of it."""
        last = self.messages[-1]["id"] if self.messages else None
        thread = self.type in {10, 11, 12}
        member = {"id": self.id, "user_id": BOT["id"], "join_timestamp": now(), "flags": 0}
        more: dict[str, Any] = {"position": 0, "permission_overwrites": [], "nsfw": False}
        if thread:
            meta = {"archived": False, "auto_archive_duration": 60, "archive_timestamp": now()}
            more = {"owner_id": "1", "thread_metadata": meta | {"locked": False}}
            more |= {"member": member} if self.joined else {}
        about = {"id": self.id, "type": self.type, "name": self.name, "last_message_id": last}
        return about | more | {"guild_id": self.guild, "parent_id": ROOM if thread else None}


def now() -> str:
    """Return the time as Discord writes it."""
    return datetime.now(UTC).isoformat()
