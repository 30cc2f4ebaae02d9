"""What Slack writes for mentions, channels and links, as plain text.

https://docs.slack.dev/messaging/formatting-message-text: in a message's text `&`, `<` and `>` are
escaped, and what stands between `<` and `>` is a reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Names = Callable[[str], str]
_REFERENCE = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
# In this order: what comes out of one is not looked at again.
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_GROUP = "subteam^"
_DATE = "date^"


def plain(text: str, names: Names) -> str:
    """Return a text without Slack's marks; `names` gives a user's name, or nothing."""
    return unescaped(_REFERENCE.sub(lambda found: _written(found, names), text))


def unescaped(text: str) -> str:
    """Return a text without Slack's escapes."""
    for escape, character in _ESCAPES:
        text = text.replace(escape, character)
    return text


def escaped(text: str) -> str:
    """Return a text in which nothing is a reference."""
    for escape, character in reversed(_ESCAPES):
        text = text.replace(character, escape)
    return text


def mentions(text: str, user: str) -> bool:
    """Say whether a user is mentioned."""
    return any(mark == "@" and name == user for mark, name, _ in _REFERENCE.findall(text) if user)


def without_address(text: str, user: str) -> str:
    """Return a text without a user's mention at its start, which only says whom it is for."""
    found = _REFERENCE.match(text.lstrip())
    if found is None or (found[1], found[2]) != ("@", user):
        return text
    return text.lstrip()[found.end() :].lstrip(" \t\n,:") or text


def _written(found: re.Match[str], names: Names) -> str:
    mark, target, label = found[1], found[2], found[3] or ""
    if mark == "@":
        return f"@{label or names(target) or target}"
    if mark == "#":
        return f"#{label or target}"
    if mark == "!":
        return _special(target, label)
    return _link(target, label)


def _special(target: str, label: str) -> str:
    if label:
        return label
    if target.startswith((_GROUP, _DATE)):
        return f"@{target.removeprefix(_GROUP)}"
    return f"@{target}"


def _link(target: str, label: str) -> str:
    shown = target.removeprefix("mailto:")
    # A label that Slack made of the address says nothing more.
    if not label or label in {target, shown} or f"://{label}" in target:
        return shown
    return f"{label} ({shown})"
