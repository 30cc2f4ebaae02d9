"""One call of a program, as the rules see it, and what they say of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import UNKNOWN, plain

_VERSION = re.compile(r"[-.]?\d[\d.]*$")


class Refused(Exception):
    """Raised with what a command would do; nobody can allow that."""


@dataclass(frozen=True)
class Call:
    """A program with its arguments as values, and what it reads from its standard input.

    `content` gives what a file named in an argument holds, when the command itself made it.
    """

    name: str
    args: list[str]
    stdin: list[str]
    scope: Scope
    content: Callable[[str], list[str] | None]

    @property
    def words(self) -> list[str]:
        """The arguments as the program gets them."""
        return [plain(arg) for arg in self.args]

    def operands(self, valued: str = "", long_valued: Sequence[str] = ()) -> list[str]:
        """Return the arguments that are no options, as values.

        `valued` are the letters of options whose value is the next argument, `long_valued` the
        names of long ones.
        """
        found: list[str] = []
        args = iter(self.args)
        for arg in args:
            text = plain(arg)
            if text == "--":
                return [*found, *args]
            if not text.startswith("-") or text == "-":
                found.append(arg)
            elif takes_value(text, valued, long_valued):
                next(args, None)
        return found

    def has(self, letters: str, *names: str) -> bool:
        """Whether an option is given: one of the letters, alone or among others, or a long name.

        Long names may be cut short, as GNU's programs allow.
        """
        for text in self.words:
            if text == "--":
                return False
            if text.startswith("--"):
                given = text[2:].partition("=")[0]
                if given and any(name.startswith(given) for name in names):
                    return True
            elif text.startswith("-") and set(text[1:]) & set(letters):
                return True
        return False


def takes_value(text: str, valued: str, long_valued: Sequence[str]) -> bool:
    """Whether the argument after this option belongs to it."""
    if text.startswith("--"):
        return "=" not in text and text[2:] in long_valued
    for place, letter in enumerate(text[1:], 1):
        if letter in valued:
            return place == len(text) - 1
    return False


def base_name(value: str) -> str:
    """Return the name of a program without its folder."""
    return plain(value).rstrip("/").rpartition("/")[2]


def without_version(name: str) -> str:
    """Return `python` of `python3.11`."""
    return _VERSION.sub("", name)


def is_unknown(value: str) -> bool:
    """Whether nothing is known of a value."""
    return value.strip(UNKNOWN) == ""
