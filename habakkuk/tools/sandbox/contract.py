"""What a sandbox is: it turns a command into the sheet that the shim goes by."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from habakkuk.core.agent_user import AgentUser, find_agent_user
from habakkuk.core.config.schema import AgentConfig, CommandLimits
from habakkuk.core.interrupt import Interrupt


@dataclass(frozen=True)
class Order:
    """One command: a shell's script, the folder it starts in, how many seconds it may take.

    `seconds` None sets no limit. `place` is the device and inode of the folder as it was looked at:
    another is not entered. `agent` is whose command it is: its sandbox is where it runs, unless it
    is a program of ours that reads the workspace, which is `here` in any case.
    """

    script: str
    folder: Path
    seconds: float | None
    place: tuple[int, int] | None = None
    agent: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    here: bool = False


@dataclass(frozen=True)
class Sheet:
    """How a command becomes a process of this machine, as the shim reads it.

    `command` is an argv whose first is a path, `variables` all of its environment. `user` is whom
    it becomes (uid, gid), `hide` the folder that only shows the workspace, `objection` why it must
    not run where nothing can be hidden. `limits` are by the names of RLIMIT_ constants. `confine`
    closes the file system and sockets to it. `stop` is an argv that kills the command where it
    really runs, for those that run elsewhere; it is run before `command` itself is killed. `input`
    is a descriptor that becomes its standard input; it gets an empty one otherwise.
    """

    command: list[str]
    variables: dict[str, str]
    folder: str
    seconds: float | None
    workspace: str
    user: list[int] | None = None
    hide: str | None = None
    objection: str | None = None
    limits: dict[str, int] = field(default_factory=dict)
    place: tuple[int, int] | None = None
    confine: dict[str, Any] | None = None
    stop: list[str] | None = None
    input: int | None = None

    def encode(self) -> bytes:
        """Return the line that the shim reads from its standard input."""
        return json.dumps(asdict(self)).encode() + b"\n"


@dataclass(frozen=True)
class Ground:
    """What every sandbox stands on.

    `process` is the server's own environment, of which commands get a little at most; `home` its
    folder; `user` finds whom commands run as where the server is root; `secret` gives the value of
    a variable that the configuration names.
    """

    process: Mapping[str, str] = field(default_factory=dict)
    home: Path | None = None
    user: Callable[[], AgentUser | None] = find_agent_user
    limits: CommandLimits = field(default_factory=CommandLimits)
    secret: Callable[[str], str | None] = lambda _: None


class Sandbox(ABC):
    """Where the commands of one agent run. Thread-safe; its module is named as the setting is.

    `remote`: its commands do not see the workspace's files, so tools that write there are refused.
    `sees_all`: they see what lies around the workspace, as far as their user may.
    """

    remote: ClassVar[bool] = False
    sees_all: ClassVar[bool] = False

    def __init__(self, ground: Ground, agent: str, config: AgentConfig) -> None:
        """Keep what it is made of. Nothing is started or looked up yet."""
        self.ground = ground
        self.agent = agent
        self.config = config

    @abstractmethod
    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
        """Return the sheet of a command; this may take a while the first time.

        Raises ToolError, with what to do, when it cannot be run there: it is never run elsewhere.
        Raises Interrupted.
        """

    @abstractmethod
    def objections(self) -> list[str]:
        """Return why no command can run in it, and what to install; empty when they can."""

    @abstractmethod
    def describe(self) -> str:
        """Return in a few words where commands run, for the doctor."""
