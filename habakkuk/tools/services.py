"""What tools may use beside their arguments: made once a process, handed to every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from habakkuk.conversations.todo import TodoList
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from habakkuk.documents.reader import Documents
from habakkuk.llm.media.images import Images
from habakkuk.llm.types import ToolSpec
from habakkuk.processes.log import Part
from habakkuk.processes.types import Judge, NewInput, NewProcess, Process, Written
from habakkuk.search.service import Search
from habakkuk.tools.commands import Commands
from habakkuk.tools.files import ShownFiles
from habakkuk.tools.outputs import KeptOutputs
from habakkuk.tools.posting import PostDesk
from habakkuk.tools.secrets import Secrets


def _no_tools(_agent: str) -> Sequence[ToolSpec]:
    return ()


class ProcessDesk(Protocol):
    """Where tools have background processes looked after; habakkuk.processes.desk says how."""

    def start(self, new: NewProcess, interrupt: Interrupt) -> Process:
        """Have a process started, once an id."""
        ...

    def find(self, agent: str | None, process_id: str) -> Process | None:
        """Return a process of this agent."""
        ...

    def list(self, agent: str | None = None) -> Sequence[Process]:
        """Return the processes of an agent."""
        ...

    def read(self, process_id: str, since: int, most: int) -> Part:
        """Return output from an offset on; a negative one counts from the end."""
        ...

    def wait(self, process_id: str, seconds: float, interrupt: Interrupt) -> Process:
        """Wait for a process's end."""
        ...

    def kill(self, process_id: str, by: str, interrupt: Interrupt) -> Process:
        """End a process with all that it started."""
        ...

    def write(self, new: NewInput, judge: Judge, interrupt: Interrupt) -> Written:
        """Write to a process's input, once a key, unless the judge has something against it."""
        ...


class TodoDesk(Protocol):
    """Where tools have task lists kept; habakkuk.conversations.todo says how."""

    def change(self, session_id: str, change: Callable[[TodoList], TodoList]) -> TodoList:
        """Change a session's list, as one step, and return it."""
        ...


@dataclass(frozen=True)
class ToolServices:
    """The parts of a worker process that tools share.

    Without arguments it keeps nothing and has no background processes, task lists or chat.
    `catalogue` gives every tool of an agent by the agent's name.
    """

    web: OutsideHttp = field(default_factory=OutsideHttp)
    commands: Commands = field(default_factory=Commands)
    outputs: KeptOutputs = field(default_factory=KeptOutputs)
    secrets: Secrets = field(default_factory=Secrets)
    catalogue: Callable[[str], Sequence[ToolSpec]] = _no_tools
    processes: ProcessDesk | None = None
    todo: TodoDesk | None = None
    posts: PostDesk | None = None
    failpoints: Failpoints = field(default_factory=Failpoints)
    files: ShownFiles = field(default_factory=ShownFiles)
    documents: Documents = field(default_factory=Documents)
    images: Images = field(default_factory=Images)
    search: Search = field(default_factory=Search)
