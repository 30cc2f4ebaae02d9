"""No sandbox: commands run here, as the agents' user where the server is root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from habakkuk.core.agent_user import AGENT_USER, AGENT_VARIABLE, AgentUser
from habakkuk.core.config.schema import CommandLimits
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.reach import closed_to, readable_by_others
from habakkuk.tools.sandbox.contract import Ground, Order, Sandbox, Sheet

_SHELLS = (Path("/bin/bash"), Path("/usr/bin/bash"), Path("/usr/local/bin/bash"))
_INHERITED = ("PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TZ")
# What a command gets when the server itself has none of it.
_DEFAULTS: Mapping[str, str] = {"PATH": os.defpath, "TERM": "dumb"}
_NAMED = 3  # exposed files that a refusal names


class Unconfined(Sandbox):
    """The machine itself, with what its user may do."""

    sees_all: ClassVar[bool] = True

    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:  # noqa: ARG002 - the base's signature
        """Return the sheet. Raises ToolError when the agents' user is missing."""
        return local_sheet(self.ground, order, workspace)

    def objections(self) -> list[str]:
        """Return nothing: what is open to commands without a sandbox is open_walls' to say."""
        return []

    def describe(self) -> str:
        """Return where commands run."""
        return "on this machine, in no sandbox"


def local_sheet(ground: Ground, order: Order, workspace: Path) -> Sheet:
    """Return the sheet of a command on this machine. Raises ToolError without the agents' user."""
    user = _agent_user(ground)
    # Folders above may be reached by links; those that the links lead to are what counts.
    real = workspace.resolve()
    hide = _hidden(ground, real, user) if user else None
    variables = allowed_variables(ground.process) | {AGENT_VARIABLE: "1"}
    if user is not None:
        variables["HOME"] = str(workspace)
    return Sheet(
        command=[*_shell(), order.script],
        variables={"HOME": str(workspace)} | variables,
        folder=str(order.folder),
        seconds=order.seconds,
        workspace=str(real),
        user=[user.uid, user.gid] if user else None,
        hide=str(hide) if hide else None,
        objection=_objection(ground, real, user) if user else None,
        limits=_resources(ground.limits, user),
        place=order.place,
    )


def allowed_variables(process: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say how this machine is used, and none that may hold a secret."""
    named = {name: process[name] for name in _INHERITED if process.get(name)}
    locale = {name: value for name, value in process.items() if name.startswith("LC_") and value}
    return {**_DEFAULTS, **locale, **named}


def _agent_user(ground: Ground) -> AgentUser | None:
    """Return whom commands run as; None: as ourselves, an ordinary user."""
    if os.geteuid() != 0:
        return None
    user = ground.user()
    if user is None:
        raise ToolError(
            f"commands are not run as root, and the user {AGENT_USER} is missing; the operator"
            " makes it by starting Habakkuk again with ./scripts/up, or with: useradd --system"
            f" --no-create-home --shell /usr/sbin/nologin {AGENT_USER}"
        )
    return user


def _hidden(ground: Ground, workspace: Path, user: AgentUser) -> Path | None:
    """Return what is hidden from commands: the home, or what is closed above the workspace."""
    closed = closed_to(workspace, user)
    above = [top for top in (closed, _home(ground)) if top and top in workspace.parents]
    return min(above, key=lambda top: len(top.parts), default=None)


def _objection(ground: Ground, workspace: Path, user: AgentUser) -> str | None:
    """Return why commands must not run here where the home cannot be hidden from them."""
    closed = closed_to(workspace, user)
    if closed is not None:
        return (
            f"commands cannot reach {workspace}: {closed} is closed to their user {AGENT_USER};"
            f" the operator can let it pass, without letting it look, with: chmod o+x {closed}"
        )
    home = _home(ground)
    exposed = readable_by_others(home) if home else []
    if not exposed:
        return None
    return (
        f"commands are refused, since they could read Habakkuk's own files: {_some(exposed)};"
        f" the operator can close them with: chmod -R o-rw {home}"
    )


def _home(ground: Ground) -> Path | None:
    return ground.home.resolve() if ground.home else None


def _resources(limits: CommandLimits, user: AgentUser | None) -> dict[str, int]:
    """Return the limits by the system's names.

    Processes are counted by user: one that is not the agents' own has others, which are not ours.
    """
    named = {"FSIZE": limits.file_size, "DATA": limits.memory}
    if user is not None:
        named["NPROC"] = limits.processes
    return {name: most for name, most in named.items() if most is not None}


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def _shell() -> list[str]:
    for shell in _SHELLS:
        if shell.exists():
            return [str(shell), "--noprofile", "--norc", "-c", "--"]
    return ["/bin/sh", "-c", "--"]
