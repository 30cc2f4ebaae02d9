"""Find the commands: one module each in this package, never listed anywhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from habakkuk.accounts.types import Role
from habakkuk.commands.contract import Command

_PACKAGE = "habakkuk.commands"
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

        A message that starts with a slash but names no command, such as a path, is ordinary.
        """
        if not text.lstrip().startswith("/"):
            return None
        head, *rest = text.split(None, 1)
        found = self._called.get(head[1:].lower())
        return (found, "".join(rest).strip()) if found else None


def allowed(command: Command, role: Role) -> bool:
    """Whether a person of this role may run the command."""
    return _RANK[role] >= _RANK[command.role]
