"""Discord's marks in what people write, as people see them: names for ids, dates for numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

# Its reference, "Message Formatting".
_MARK = re.compile(
    r"<(?:@!?(?P<person>\d{1,20})|@&(?P<role>\d{1,20})|#(?P<channel>\d{1,20})"
    r"|a?(?P<emoji>:\w{1,40}:)\d{1,20}"
    r"|/(?P<command>[^<>:]{1,100}):\d{1,20}"
    r"|t:(?P<time>-?\d{1,12})(?::[tTdDfFR])?)>"
)
_BEHIND_NAME = " \t\n,:"


@dataclass(frozen=True)
class Names:
    """What ids are called."""

    people: Mapping[str, str]
    roles: Mapping[str, str]
    channels: Mapping[str, str]


def readable(text: str, names: Names, own: Collection[str]) -> str:
    """Return a text as people read it; `own`, the bot's marks, only say at its start whom it means.

    A mark whose name is not known stays as it is.
    """
    text = text.strip()
    rest = _without_own(text, own)
    return _MARK.sub(lambda mark: _shown(mark, names), rest or text)


def _without_own(text: str, own: Collection[str]) -> str:
    while (mark := next((one for one in own if text.startswith(one)), None)) is not None:
        text = text[len(mark) :].lstrip(_BEHIND_NAME)
    return text


def _shown(mark: re.Match[str], names: Names) -> str:
    if mark["person"]:
        return _called("@", names.people.get(mark["person"]), mark)
    if mark["role"]:
        return _called("@", names.roles.get(mark["role"]), mark)
    if mark["channel"]:
        return _called("#", names.channels.get(mark["channel"]), mark)
    if mark["time"]:
        return _date(int(mark["time"])) or mark[0]
    return mark["emoji"] or f"/{mark['command']}"


def _called(sign: str, name: str | None, mark: re.Match[str]) -> str:
    # A role may be called "@everyone" itself.
    return f"{sign}{name.removeprefix(sign)}" if name else mark[0]


def _date(seconds: int) -> str | None:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, OSError, ValueError):
        return None
