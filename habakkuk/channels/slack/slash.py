"""Slash commands of the app: they stand in its manifest, which only a person can change."""

from __future__ import annotations

from collections.abc import Sequence

from habakkuk.channels.messages import OfferedCommand
from habakkuk.core.text import shorten

# Slack answers these itself: https://slack.com/help/articles/201259356
_OWN = frozenset(
    [
        "active",
        "apps",
        "archive",
        "away",
        "call",
        "canvas",
        "collapse",
        "dm",
        "dnd",
        "expand",
        "feed",
        "feedback",
        "help",
        "huddle",
        "invite",
        "join",
        "leave",
        "me",
        "msg",
        "mute",
        "open",
        "part",
        "people",
        "prefs",
        "remind",
        "remove",
        "rename",
        "search",
        "shortcuts",
        "shrug",
        "star",
        "status",
        "topic",
        "who",
    ]
)
# https://api.slack.com/reference/manifests: 50 of them, with 32 and 2,000 characters.
_MOST, _LONGEST_NAME, _LONGEST_HELP = 50, 32, 2000


def section(commands: Sequence[OfferedCommand]) -> str:
    """Return `slash_commands:` as YAML, at the place that it has below `features:`."""
    shown = [one for one in commands if one.name not in _OWN and len(one.name) < _LONGEST_NAME]
    lines = ["  slash_commands:"]
    for one in shown[:_MOST]:
        lines += [
            f"    - command: /{one.name}",
            f"      description: {_quoted(shorten(one.help, _LONGEST_HELP))}",
            '      usage_hint: "[text]"',
        ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
