"""A question in words, for where there are no buttons."""

from __future__ import annotations

import json
from typing import Any

from habakkuk.agent.approval.types import EXPIRES_SECONDS
from habakkuk.agent.putting import Put
from habakkuk.conversations.types import ChatKind
from habakkuk.events.types import EventType

_MINUTES = round(EXPIRES_SECONDS / 60)
# Whoever cannot see the whole cannot judge it: then the dashboard shows it.
_LONGEST = 6000


def asked(agent: str, tool: str) -> str:
    """Return what is asked, in one line."""
    return f"May {agent} run {tool}?"


def put(payload: dict[str, Any]) -> Put:
    """Return what is shown of a question."""
    line = asked(payload["agent"], payload["tool"])
    return Put(ChatKind.APPROVAL, EventType.APPROVAL, line, _whole(line, payload))


def _whole(line: str, payload: dict[str, Any]) -> str:
    """Return what is asked, exactly what would run, and how to answer."""
    what = payload["input"].get("command")
    shown = what if isinstance(what, str) else json.dumps(payload["input"], ensure_ascii=False)
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}\n… cut; see the whole in the dashboard before you answer"
    fence = "```" if "```" not in shown else "````"
    return (
        f"{line}\n\n{fence}\n{shown}\n{fence}\n\n"
        f"Folder: {payload['folder']}\nWhy you are asked: {payload['why']}\n\n"
        f'Answer "yes" to allow it once or "no" to deny it; after {_MINUTES} minutes it counts as'
        " denied."
    )
