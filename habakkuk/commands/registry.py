"""Find the commands: one module each in this package, never listed anywhere."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Mapping

from habakkuk.accounts.types import Role
from habakkuk.commands.contract import Command

_PACKAGE = "habakkuk.commands"
_NAME = re.compile("[a-z][a-z_-]{2,20}")
_ALIKE = 0.75
_RANK = {Role.VIEWER: 0, Role.MEMBER: 1, Role.OWNER: 2}


class CommandRegistry:
    """Every command by name."""

    def __init__(self) -> None:
        """Import the modules of the package once."""
        self._commands: dict[str, Command] = {}
        self._called: dict[str, Command] = {}
        for module in pkgutil.iter_modules(importlib.import_module(_PACKAGE).__path__):
            members = vars(importlib.import_module(f"{_PACKAGE}.{module.name}")).values()
            for member in members:
                if isinstance(member, Command):
                    self._commands[member.name] = member
                    self._called |= dict.fromkeys((member.name, *member.aliases), member)

    @property
    def all(self) -> Mapping[str, Command]:
        """The commands by name, without the other names of some."""
        return self._commands

    def match(self, text: str) -> tuple[Command, str] | None:
        """Return the command that `text` calls and its arguments; None for an ordinary message.

        A message that starts with a slash but names no command, such as a path, is ordinary; one
        that nearly names a command is told which.
        """
        if not text.lstrip().startswith("/"):
            return None
        head, *rest = text.split(None, 1)
        name = head[1:].lower()
        found = self._called.get(name) or self._near(name)
        return (found, "".join(rest).strip()) if found else None

    def _near(self, name: str) -> Command | None:
        if _NAME.fullmatch(name) is None:
            return None
        near = difflib.get_close_matches(name, self._called, n=1, cutoff=_ALIKE)
        # A longer word that begins so is another word.
        return _unknown(name, near[0]) if near and not name.startswith(near[0]) else None


def _unknown(name: str, near: str) -> Command:
    """Return what answers a command that is not there: nothing is sent to the agent by mistake."""
    said = f"There is no /{name}; did you mean /{near}? /help shows all."
    return Command(name, "", Role.VIEWER, said, lambda *_: said, wants_health=False)


def allowed(command: Command, role: Role) -> bool:
    """Whether a person of this role may run the command."""
    return _RANK[role] >= _RANK[command.role]
