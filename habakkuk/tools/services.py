"""What tools may use beside their arguments: made once a process, handed to every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from habakkuk.core.http import OutsideHttp
from habakkuk.llm.types import ToolSpec
from habakkuk.tools.commands import Commands
from habakkuk.tools.outputs import KeptOutputs


def _no_tools(_agent: str) -> Sequence[ToolSpec]:
    return ()


@dataclass(frozen=True)
class ToolServices:
    """The parts of a worker process that tools share. Without arguments it keeps no outputs.

    `catalogue` gives every tool of an agent by the agent's name.
    """

    web: OutsideHttp = field(default_factory=OutsideHttp)
    commands: Commands = field(default_factory=Commands)
    outputs: KeptOutputs = field(default_factory=KeptOutputs)
    catalogue: Callable[[str], Sequence[ToolSpec]] = _no_tools
