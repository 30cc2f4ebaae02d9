"""Change one variable in the home's `.env`; every other byte of it stays."""

from __future__ import annotations

import re
from io import StringIO

from dotenv import dotenv_values
from dotenv.parser import Binding, parse_stream

from habakkuk.core.errors import ConfigurationError

_PLAIN = re.compile(r"[A-Za-z0-9_.:/+=@%~^,-]+")


def with_variable(raw: bytes, name: str, value: str) -> bytes:
    """Return the file `raw` with the variable set: in its place when it is there, else at the end.

    `value` has one line. Raises ConfigurationError when the file cannot be read or the result
    would not be read back as meant.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(".env: not valid UTF-8; save the file as UTF-8") from error
    changed = _replaced(text, name, f"{name}={_written(value)}")
    _check(text, changed, name, value)
    return changed.encode()


def _replaced(text: str, name: str, line: str) -> str:
    parts: list[str] = []
    done = False
    for binding in parse_stream(StringIO(text, newline="")):
        if binding.key != name or binding.error:
            parts.append(binding.original.string)
        elif not done:
            parts.append(_in_place(binding, line))
            done = True
    if not done:
        if parts and not parts[-1].endswith(("\n", "\r")):
            parts.append("\n")
        parts.append(line + "\n")
    return "".join(parts)


def _in_place(binding: Binding, line: str) -> str:
    """Return the new line with what stands around the old one."""
    old = binding.original.string
    begin = old[: len(old) - len(old.lstrip())]
    end = old[len(old.rstrip("\r\n")) :]
    export = "export " if old.lstrip().startswith("export ") else ""
    return f"{begin}{export}{line}{end}"


def _written(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _check(before: str, after: str, name: str, value: str) -> None:
    """Read both back: this variable is as meant, and no other one changed."""
    expected = dotenv_values(stream=StringIO(before), interpolate=False) | {name: value}
    if dotenv_values(stream=StringIO(after), interpolate=False) != expected:
        raise ConfigurationError(
            f".env: {name} cannot be set without changing another line; write it there by hand"
        )
