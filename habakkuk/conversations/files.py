"""Files of chat messages: those that are stored, and those that lie at their platform still."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

# The key of a chat message's data under which its files stand.
FILES = "files"


@dataclass(frozen=True)
class Attached:
    """A file of a chat message: a blob, what it is, how it is called, and its size in bytes.

    `path` is where it lies in the agent's workspace, None where it does not.
    """

    blob: str
    mime: str
    name: str | None
    size: int
    path: str | None = None


def files_of(data: Mapping[str, Any]) -> tuple[Attached, ...]:
    """Return the files that a chat message's data names."""
    return tuple(Attached(**one) for one in data.get(FILES, ()))


def unlaid(files: Iterable[Attached]) -> tuple[Attached, ...]:
    """Return files as they came, to be laid anew: another agent may take them by now.

    And the one that took them may have moved them.
    """
    return tuple(replace(file, path=None) for file in files)


# The key of its data that says: its files are stored, but not yet where the agent's tools find
# them. And the one under which stands which of them found no place there, and why: asked again they
# may find one.
UNPLACED = "unplaced"
LOST = "lost"
# The key of its data under which the files stand that nobody has fetched yet.
AWAITED = "awaited"


@dataclass(frozen=True)
class Awaited:
    """A file of a chat message that lies at its platform, and the account that can fetch it.

    `size` in bytes, None where the platform does not tell; `handle` is JSON for the adapter.
    """

    account: str
    name: str
    mime: str
    size: int | None
    handle: dict[str, Any]


def awaited_of(data: Mapping[str, Any]) -> tuple[Awaited, ...]:
    """Return the files of a chat message's data that are still to be fetched."""
    return tuple(Awaited(**one) for one in data.get(AWAITED, ()))
