"""Whom agents' commands run as when the server runs as root, and how a command knows itself."""

from __future__ import annotations

import pwd
from dataclasses import dataclass

# The system user of agents' commands; `up` makes it when it runs as root.
AGENT_USER = "habakkuk-agent"
# Set in the environment of every command that an agent runs.
AGENT_VARIABLE = "HABAKKUK_AGENT_COMMAND"


@dataclass(frozen=True)
class AgentUser:
    """The user by number."""

    uid: int
    gid: int


def find_agent_user() -> AgentUser | None:
    """Return the agents' user, None when this machine has none."""
    try:
        entry = pwd.getpwnam(AGENT_USER)
    except KeyError:
        return None
    return AgentUser(entry.pw_uid, entry.pw_gid)
