"""What Discord wants of what it is sent, and its objects, from its public documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

_LONGEST_NONCE = 25
# https://docs.discord.com/developers/resources/message#attachment-object
_LONGEST_DESCRIPTION = 1024


def faults_of(asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a message that is neither empty nor too long."""
    if asked.get("allowed_mentions") != {"parse": []}:
        yield "somebody may be pinged"
    if len(str(asked.get("nonce", ""))) > _LONGEST_NONCE:
        yield "a long nonce"
    reference = asked.get("message_reference")
    if reference is not None and reference.get("fail_if_not_exists") is not False:
        yield "a reply that could fail"
    for row in asked.get("components", []):
        pressed = row["components"]
        fits = all(len(one["custom_id"]) <= 100 and len(one["label"]) <= 80 for one in pressed)
        if not 1 <= len(pressed) <= 5 or not fits:
            yield f"a row of buttons: {row}"
    for one in asked.get("attachments", []):
        if not 0 < len(one.get("description", "x")) <= _LONGEST_DESCRIPTION:
            yield f"a description of {len(one['description'])}"


def takes_commands(listed: Sequence[Mapping[str, Any]]) -> bool:
    """https://docs.discord.com/developers/interactions/application-commands."""
    return len(listed) <= 100 and all(
        re.fullmatch(r"[-_\w]{1,32}", one["name"]) is not None
        and one["name"].lower() == one["name"]
        and 1 <= len(one["description"]) <= 100
        and len(one["options"]) <= 25
        for one in listed
    )


def message(number: str, room: str, text: str, author: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of nothing but words."""
    return {
        "content": text,
        "embeds": [],
        "attachments": [],
        "components": [],
        "id": number,
        "channel_id": room,
        "type": 0,
        "author": dict(author),
        "timestamp": datetime.now(UTC).isoformat(),
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "pinned": False,
        "flags": 0,
    }


def application(number: str) -> dict[str, Any]:
    """Return what a bot is told of its application."""
    return {
        "id": number,
        "name": "Hab",
        "icon": None,
        "description": "",
        "bot_public": False,
        "bot_require_code_grant": False,
        "verify_key": "0",
        "owner": {"id": "1", "username": "o", "discriminator": "0", "avatar": None},
        "flags": 0,
        "team": None,
    }
