"""What the Bot API wants of what it is sent, from its public documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MOST_ENTITIES = 100


def faults_of(
    asked: Mapping[str, Any], text: str, entities: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield what is wrong with a message that is not too long."""
    reply = asked.get("reply_parameters")
    if reply is not None and not reply.get("allow_sending_without_reply"):
        yield "a reply that could fail"
    if len(entities) > _MOST_ENTITIES:
        yield f"{len(entities)} entities"
    whole = text.encode("utf-16-le")
    for entity in entities:
        start, end = entity["offset"], entity["offset"] + entity["length"]
        try:
            whole[2 * start : 2 * end].decode("utf-16-le")
        except UnicodeDecodeError:
            yield f"half a character in {entity}"
        if entity["length"] <= 0 or end > len(whole) // 2:
            yield f"an entity outside: {entity}"


def faults_of_poll(asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a poll (https://core.telegram.org/bots/api#sendpoll)."""
    options = [one["text"] for one in asked["options"]]
    if not 2 <= len(options) <= 12 or not 1 <= len(asked["question"]) <= 300:
        yield f"a poll of {len(options)} options"
    if any(not 1 <= len(one) <= 100 for one in options):
        yield "an option of a poll that is too long"


def refusal_of_commands(commands: Sequence[Mapping[str, str]]) -> str | None:
    """Return why a list is not taken (https://core.telegram.org/bots/api#botcommand)."""
    for one in commands:
        if re.fullmatch(r"[a-z0-9_]{1,32}", one["command"]) is None:
            return "BOT_COMMAND_INVALID"
        if not 1 <= len(one["description"]) <= 256:
            return "BOT_COMMAND_DESCRIPTION_INVALID"
    return "BOT_COMMANDS_TOO_MUCH" if len(commands) > 100 else None
