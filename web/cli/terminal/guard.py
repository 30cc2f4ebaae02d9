"""The CLI acts as the owner, so an agent's own commands may not use it (design: blueprint §13)."""

from __future__ import annotations

import os
import pwd

from habakkuk.core.agent_user import AGENT_USER, AGENT_VARIABLE
from habakkuk.core.config.environment import read_environment
from habakkuk.core.errors import Forbidden


def refuse_agents() -> None:
    """Raise Forbidden in a command that an agent runs, or as the agents' user."""
    if AGENT_VARIABLE in read_environment().process or _user() == AGENT_USER:
        raise Forbidden("an agent may not use the habakkuk command: it acts as the owner")


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""
