"""Read the log files of a home: JSON lines of our own processes, plain lines of the databases."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from textwrap import indent
from typing import Any

LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3, "critical": 4}
# Beyond this much of a file's end, nobody pages through a terminal.
_MAX_BYTES = 8_000_000
_HIDDEN = {"timestamp", "level", "event", "process", "exception"}
# How PostgreSQL, Valkey and gunicorn name a level in their lines.
_WORDS = {
    "DEBUG": "debug",
    "LOG": "info",
    "INFO": "info",
    "NOTICE": "info",
    "HINT": "info",
    "WARNING": "warning",
    "ERROR": "error",
    "FATAL": "critical",
    "PANIC": "critical",
    "CRITICAL": "critical",
}
_WORD = re.compile(rf"(?:\[|\s|^)({'|'.join(_WORDS)})(?::|\])")
_STAMP = re.compile(
    r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)(?: ?(Z|UTC|[+-]\d{2}:?\d{2}))?"
)
# Valkey writes `pid:role day month year time sign text`, in the machine's zone; # is a warning.
_VALKEY = re.compile(r"\d+:[A-Z] (\d+ \w{3} \d{4} \d\d:\d\d:\d\d\.\d+) ([.*#-]) ")
_SIGNS = {".": "debug", "-": "info", "*": "info", "#": "warning"}


@dataclass(frozen=True)
class LogLine:
    """One line: when, by whom, how grave, as written and as shown."""

    moment: datetime
    level: str
    raw: str
    text: str


class LogFile:
    """One growing file. A line that cannot be read has the time and level of the one before."""

    def __init__(self, path: Path) -> None:
        """Begin near the end of the file."""
        self._path = path
        self._inode = -1
        self._offset = 0
        self._rest = b""
        self._moment = datetime.fromtimestamp(0, UTC)
        self._level = "info"

    def read(self) -> Iterator[LogLine]:
        """Yield the whole lines that were written since the last call, or since the file began."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return
        if found.st_ino != self._inode or found.st_size < self._offset:
            self._inode, self._rest = found.st_ino, b""
            self._offset = max(0, found.st_size - _MAX_BYTES)
        with self._path.open("rb") as source:
            source.seek(self._offset)
            data = source.read()
        self._offset += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        for raw in whole:
            if raw.strip():
                yield self._line(raw.decode("utf-8", "replace").rstrip("\r"))

    def _line(self, raw: str) -> LogLine:
        fields = _fields(raw)
        if fields is None:
            self._read_plain(raw)
            return LogLine(self._moment, self._level, raw, f"{self._path.stem:<12}  {raw}")
        self._moment = _stamp(str(fields.get("timestamp", ""))) or self._moment
        level = str(fields.get("level", "info"))
        self._level = level if level in LEVELS else "info"
        return LogLine(self._moment, self._level, raw, self._shown(fields))

    def _read_plain(self, raw: str) -> None:
        if valkey := _VALKEY.match(raw):
            # Without a zone in the text, `astimezone` takes the machine's.
            self._moment = datetime.strptime(valkey[1], "%d %b %Y %H:%M:%S.%f").astimezone()
            self._level = _SIGNS[valkey[2]]
            return
        self._moment = _stamp(raw) or self._moment
        word = _WORD.search(raw[:200])
        self._level = _WORDS[word[1]] if word else self._level

    def _shown(self, fields: dict[str, Any]) -> str:
        clock = self._moment.astimezone().strftime("%m-%d %H:%M:%S")
        details = " ".join(f"{key}={value}" for key, value in fields.items() if key not in _HIDDEN)
        # What others wrote into a field begins no line that looks like one of ours.
        event = f"{fields.get('event', '')}  {details}".rstrip().replace("\n", "\\n")
        line = f"{self._path.stem:<12}  {clock}  {self._level:<8}  {event}"
        trace = fields.get("exception")
        return f"{line}\n{indent(str(trace), '    ')}" if trace else line


def tail(files: Sequence[LogFile], count: int, level: str | None) -> Sequence[LogLine]:
    """Return the last `count` lines of all files together, oldest first."""
    last = (deque(_grave(file.read(), level), maxlen=count) for file in files)
    lines = sorted((line for lines in last for line in lines), key=_moment)
    return lines[-count:] if count else []


def merged(files: Sequence[LogFile], level: str | None) -> Sequence[LogLine]:
    """Return what is new in all files, oldest first."""
    return sorted((line for file in files for line in _grave(file.read(), level)), key=_moment)


def _grave(lines: Iterator[LogLine], level: str | None) -> Iterator[LogLine]:
    least = LEVELS[level or "debug"]
    return (line for line in lines if LEVELS[line.level] >= least)


def _moment(line: LogLine) -> datetime:
    return line.moment


def _fields(raw: str) -> dict[str, Any] | None:
    if not raw.startswith("{"):
        return None
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _stamp(text: str) -> datetime | None:
    match = _STAMP.match(text)
    if match is None:
        return None
    zone = (match[2] or "").replace("UTC", "+00:00")
    try:
        found = datetime.fromisoformat(match[1].replace(",", ".") + zone)
    except ValueError:
        return None
    return found if found.tzinfo else found.astimezone()
