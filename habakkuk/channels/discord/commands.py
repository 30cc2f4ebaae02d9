"""Slash commands: the list that Discord keeps, and what somebody picks from it.

https://docs.discord.com/developers/interactions/application-commands
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.discord.wire import User
from habakkuk.channels.messages import InboundMessage, OfferedCommand
from habakkuk.core.text import shorten

_PICKED = 2
_CHAT_INPUT, _STRING = 1, 3
_MOST, _LONGEST_HELP, _LONGEST_TEXT = 100, 100, 6000
_OPTION = "text"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Option(_Part):
    name: str
    value: str | int | float | bool | None = None


class _Named(_Part):
    name: str = Field(pattern=r"^[\w-]{1,32}$")
    type: int = _CHAT_INPUT
    options: list[_Option] = []


class _Member(_Part):
    user: User
    nick: str | None = None


class _Interaction(_Part):
    id: str
    type: int
    token: str
    channel_id: str | None = None
    member: _Member | None = None
    user: User | None = None
    data: _Named | None = None


class _Kind(_Part):
    type: int = 0


@dataclass(frozen=True)
class Called:
    """A command as the message that it stands for, and what its answer needs."""

    message: InboundMessage
    token: str


def offered(commands: Sequence[OfferedCommand]) -> list[dict[str, Any]]:
    """Return the list as Discord takes it; each takes words behind its name."""
    return [
        {
            "name": one.name,
            "type": _CHAT_INPUT,
            "description": shorten(one.help, _LONGEST_HELP),
            "options": [
                {
                    "name": _OPTION,
                    "type": _STRING,
                    "description": "What follows the command",
                    "required": False,
                    "max_length": _LONGEST_TEXT,
                }
            ],
        }
        for one in commands[:_MOST]
    ]


def called(data: object) -> Called | None:
    """Return a command that was picked; None for what is none. Raises WebhookUnreadable."""
    try:
        if _Kind.model_validate(data).type != _PICKED:
            return None
        told = _Interaction.model_validate(data)
    except ValidationError as error:
        raise WebhookUnreadable("a command cannot be read") from error
    who = told.member.user if told.member else told.user
    if who is None or told.channel_id is None or told.data is None:
        return None
    if told.data.type != _CHAT_INPUT:
        return None
    words = [str(one.value) for one in told.data.options if one.name == _OPTION]
    message = InboundMessage(
        id=told.id,
        chat=told.channel_id,
        sender=who.id,
        text=" ".join([f"/{told.data.name}", *words]).strip(),
        sender_name=(told.member.nick if told.member else None) or who.name,
        group=told.member is not None,
    )
    return Called(message, told.token)
