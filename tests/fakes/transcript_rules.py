"""What Chat Completions services demand of a transcript, as strictly as the strictest of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_ROLES = {"system", "developer", "user", "assistant", "tool"}


def violations(body: dict[str, Any]) -> list[str]:
    """Return what is wrong with a request's messages, empty when a provider would take them."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: missing or empty"]
    found: list[str] = []
    seen: set[str] = set()
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "tool":
            found += _answer(place, message, open_ids)
            continue
        if open_ids:
            found.append(f"messages[{place}]: {role} while {open_ids} have no result")
            open_ids = []
        if role == "assistant":
            open_ids, faults = _asked(place, message, seen)
            found += faults
        else:
            found += _spoken(place, role, message)
    if open_ids:
        found.append(f"at the end: {open_ids} have no result")
    return found


def _spoken(place: int, role: object, message: dict[str, Any]) -> list[str]:
    """Check a message of a person or of the system."""
    if role not in _ROLES:
        return [f"messages[{place}]: role {role!r}"]
    return [] if _has_content(message) else [f"messages[{place}]: empty {role} message"]


def _answer(place: int, message: dict[str, Any], open_ids: list[str]) -> list[str]:
    """Check a tool message and strike its id off the open ones."""
    call_id = message.get("tool_call_id")
    if call_id not in open_ids:
        return [f"messages[{place}]: tool result for {call_id!r}, which no call right before has"]
    open_ids.remove(call_id)
    return (
        [] if isinstance(message.get("content"), str | list) else [f"messages[{place}]: no content"]
    )


def _asked(place: int, message: dict[str, Any], seen: set[str]) -> tuple[list[str], list[str]]:
    """Return the ids that an assistant message asks for, and its faults."""
    calls: Sequence[Any] = message.get("tool_calls") or []
    faults: list[str] = []
    ids: list[str] = []
    if "tool_calls" in message and not calls:
        faults.append(f"messages[{place}]: tool_calls is empty")
    if not calls and not _has_content(message):
        faults.append(f"messages[{place}]: empty assistant message")
    for call in calls:
        call_id = call.get("id")
        if not call_id or call_id in seen:
            faults.append(f"messages[{place}]: call id {call_id!r} is empty or used before")
        name = (call.get("function") or {}).get("name")
        if not name:
            faults.append(f"messages[{place}]: call without a name")
        ids.append(call_id)
        seen.add(call_id)
    return ids, faults


def _has_content(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return bool(content.strip()) if isinstance(content, str) else bool(content)
