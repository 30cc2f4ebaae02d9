"""What a turn needs from the rest, gathered so that bootstrap fills it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from habakkuk.agent.arriving.service import Arrivals
from habakkuk.conversations.personalities import Personalities
from habakkuk.conversations.remembered import Remembered
from habakkuk.conversations.store.usage import UsageLedger
from habakkuk.conversations.types import Outcome, Target, Turn
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import AgentConfig, Config
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.redaction import Redactor
from habakkuk.db.engine import Work
from habakkuk.events.publisher import Publisher
from habakkuk.hooks.service import Hooks
from habakkuk.llm.types import LlmEvent, LlmRequest, ModelRef
from habakkuk.tools.checkpoints.service import Checkpoints
from habakkuk.tools.registry import ToolRegistry
from habakkuk.tools.services import ToolServices


class ModelCaller(Protocol):
    """The router, as the turn sees it."""

    def stream(
        self, chain: Sequence[ModelRef], request: LlmRequest, interrupt: Interrupt
    ) -> Iterator[LlmEvent]:
        """Yield one answer's events, Finished last. Raises LlmError and Interrupted."""
        ...


class Signs(Protocol):
    """What people of a platform see of a turn; habakkuk.delivery.signs says how."""

    def typing(self, target: Target | None) -> AbstractContextManager[None]:
        """Show inside the block that an answer is on its way."""
        ...

    def running(self, turn: Turn) -> AbstractContextManager[None]:
        """Show inside the block that a turn runs, and what it does."""
        ...

    def called(self, turn_id: str, line: str) -> None:
        """Note a call of a turn, told in a line."""
        ...

    def waits(self, turn_id: str) -> None:
        """Note that a turn asks a person."""
        ...

    def ended(self, target: Target | None, outcome: Outcome) -> None:
        """Show how a turn ended."""
        ...


@dataclass(frozen=True)
class Fits:
    """Tokens: the length at which a session is summed up (None: never), and what a model takes."""

    limit: int | None
    takes: int | None


@dataclass(frozen=True)
class TurnPorts:
    """The parts of one worker process that turns share.

    `models_of` gives the models of an agent, first choice first, that of the session before them,
    and what to say of a session's choice that is passed over; it raises ConfigurationError with
    what to set when there is none. `fits` says how much a model takes, by the agent's settings.
    `release` lets go of what a killed run of a turn held of a budget. `signs` shows where answers
    go what there is before one; `arrivals` fetches the files of messages.
    """

    config: Config
    clock: Clock
    models: ModelCaller
    usage: UsageLedger
    models_of: Callable[[str, str | None], tuple[Sequence[ModelRef], str | None]]
    fits: Callable[[ModelRef, AgentConfig], Fits]
    release: Callable[[Work, str], None]
    remembered: Remembered
    tools: ToolRegistry
    tool_threads: ToolThreads
    tool_services: ToolServices
    publisher: Publisher
    redactor: Redactor
    hooks: Hooks
    workspace: Callable[[str], Path]
    checkpoints: Checkpoints
    personalities: Personalities
    signs: Signs
    arrivals: Arrivals


class ToolThreads(Protocol):
    """The bounded pool that tools run in."""

    def submit(self, task: Callable[[], None]) -> None:
        """Run `task` in a thread of the pool, in turn."""
        ...
