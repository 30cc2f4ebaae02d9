"""Which of Habakkuk's secrets an agent's command could reach on this machine, for doctor."""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path

from habakkuk.core.agent_user import AGENT_USER, find_agent_user
from habakkuk.tools.reach import readable_by_others

_CLONE_NEWNS = 0x0002_0000
_OF_ONE_USER = (
    "as an ordinary user nothing stands between an agent's commands and this user's own files: they"
    " can read {home}/.env, config.yaml, run.json, logs and stored files, and whatever else this"
    " user can",
    "commands can open the sockets of the databases, which know this user alone",
    "commands can use the habakkuk command as the owner, once they clear the variable that marks"
    " them",
    "commands can end Habakkuk's processes, the ones that watch over commands included",
)
_MEND = (
    "to close these walls give each agent `sandbox: workspace` in config.yaml, or run Habakkuk as"
    " root, when commands run as the user habakkuk-agent, or in a container of its own; until then"
    " keep approvals on for exec"
)


def open_walls(home: Path) -> list[str]:
    """Return one sentence for each wall that is missing, the last of them how to mend it.

    None: commands reach nothing of Habakkuk but the workspace.
    """
    if os.geteuid() != 0:
        return [*(line.format(home=home) for line in _OF_ONE_USER), *_system(), _MEND]
    if find_agent_user() is None:
        return [
            f"the user {AGENT_USER} is missing: commands are refused until ./scripts/up made it"
        ]
    return [*_system(), *_modes(home)]


def _system() -> list[str]:
    if _on_linux():
        return []
    return [
        "this system does not hide the memory and environment of Habakkuk's processes from other"
        " processes of their user, and a command that leaves its process group can outlive its call"
    ]


def _modes(home: Path) -> list[str]:
    """As root without mount namespaces, what others can read is what commands can."""
    if can_hide():
        return []
    exposed = readable_by_others(home)
    if not exposed:
        return []
    return [
        f"this system lets nothing be hidden from commands, and others can read {len(exposed)} of"
        f" Habakkuk's files, such as {exposed[0]}: commands are refused until they cannot (chmod -R"
        f" o-rw {home})"
    ]


def can_hide() -> bool:
    """Whether this process may give a command a view of its own of the file system.

    Tried in a child, since it cannot be undone.
    """
    if not _on_linux():
        return False
    libc = ctypes.CDLL(None)
    child = os.fork()
    if child == 0:
        os._exit(0 if libc.unshare(_CLONE_NEWNS) == 0 else 1)
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended) == 0


def _on_linux() -> bool:
    return platform.system() == "Linux"
