"""What settings are written as: durations, sizes, names. Each error says how to write it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

# How every section is read: unknown keys are errors, and nothing is converted.
SECTION = ConfigDict(extra="forbid", frozen=True, strict=True)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(kB|MB|GB|TB)")
_RICHEST = 100_000
_LONGEST = 30 * 86400.0
_BYTES = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def _seconds(value: object) -> float:
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError('write a duration as a number with a unit, such as "30s", "5m" or "2h"')
    seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST:
        raise ValueError("write at most 30 days, such as 720h or 30d")
    return seconds


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("write more than nothing, such as 30s or 5m")
    return value


def _bytes(value: object) -> int:
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError('write a size as a number with a unit, such as "500MB" or "8GB"')
    return int(float(match[1]) * _BYTES[match[2]])


def _dollars(value: object) -> Decimal:
    """Return an amount as it is written: 0.1 is a tenth, not the float nearest to it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _RICHEST:
        raise ValueError(f"write an amount in US dollars from 0 to {_RICHEST}, such as 2.50")
    return Decimal(value) if isinstance(value, int) else Decimal(repr(float(value)))


def _switched(value: object) -> bool:
    """Return whether something is on: YAML of today reads "off" as a word."""
    if value is True or value == "on":
        return True
    if value is False or value == "off":
        return False
    raise ValueError("write on or off")


def written(pattern: str, advice: str) -> AfterValidator:
    """Return a validator for `pattern` whose error is the advice: people do not read patterns."""
    form = re.compile(pattern)

    def check(value: str) -> str:
        if form.fullmatch(value) is None:
            raise ValueError(advice)
        return value

    return AfterValidator(check)


Duration = Annotated[float, BeforeValidator(_seconds)]
# One within which something must happen.
Limit = Annotated[Duration, AfterValidator(_positive)]
Switch = Annotated[bool, BeforeValidator(_switched)]
Size = Annotated[int, BeforeValidator(_bytes)]
Name = Annotated[
    str,
    written(
        r"[a-z0-9][a-z0-9_-]{0,63}",
        "write a name of at most 64 small letters, digits, - and _ that starts with a letter or"
        " digit",
    ),
]
ModelName = Annotated[
    str,
    written(r"[^/\s]+/\S+", 'write provider/model, such as "openai/gpt-5" or "ollama/llama3.2"'),
]
Url = Annotated[
    str, written(r"https?://[^\s/]\S*", 'write a URL, such as "http://127.0.0.1:11434/v1"')
]
HostName = Annotated[
    str,
    written(r"[A-Za-z0-9.-]+|[0-9a-f:]+", 'write the name of a host, such as "api.example.org"'),
]
PublicUrl = Annotated[
    str,
    written(r"https?://[^/\s]+", 'write a URL without a path, such as "https://chat.example.org"'),
]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE_ADVICE = (
    'write the name of the variable that holds the secret, such as "OPENAI_API_KEY", never the'
    " secret itself"
)
Variable = Annotated[str, written(_VARIABLE.pattern, _VARIABLE_ADVICE)]
ModelPattern = Annotated[
    str,
    written(
        r"[^\s*]+\*?|\*",
        'write how the names of models begin, such as "openai/gpt-6", "gpt-6" or "mine/*"',
    ),
]
Dollars = Annotated[Decimal, BeforeValidator(_dollars)]


def _compact_at(value: int) -> int:
    if value != -1 and value < _SHORTEST_SESSION:
        raise ValueError(
            f"write a number of tokens of at least {_SHORTEST_SESSION:,}, or -1 for never"
        )
    return value


# Less than this is taken by the prompt, the tools and one turn: each would be summed up.
_SHORTEST_SESSION = 2_000
CompactAt = Annotated[int, AfterValidator(_compact_at)]


def _variables(value: object) -> object:
    """Take one name or several; each is checked as one."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names:
        raise ValueError("write the name of a variable, or a list of such names")
    for name in names:
        if not isinstance(name, str) or _VARIABLE.fullmatch(name) is None:
            raise ValueError(_VARIABLE_ADVICE)
    return tuple(names)


Variables = Annotated[tuple[str, ...], BeforeValidator(_variables)]
Slots = Annotated[int, Field(ge=1, le=1024)]
