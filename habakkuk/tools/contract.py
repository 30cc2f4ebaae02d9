"""What a tool is: typed arguments, a docstring for the model, and facts that the walls go by."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError

from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.types import ToolSpec
from habakkuk.tools.services import ToolServices


class Risk(StrEnum):
    """What a tool can do to the world; permission modes go by it."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


class ToolArgs(BaseModel):
    """The arguments of a tool. An unknown one is an error that the model can mend."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_Args = TypeVar("_Args", bound=ToolArgs)


@dataclass(frozen=True)
class Resolution:
    """How a wait ended: what resolved it, and the answer when there is one."""

    outcome: str
    answer: dict[str, Any] | None


@dataclass(frozen=True)
class ToolContext:
    """What a running call may know. `call_id` is the key for effects that must happen once.

    `resolution` is set when the call raised WaitFor before and that wait has ended.
    """

    call_id: str
    session_id: str
    turn_id: str
    agent: str
    interrupt: Interrupt
    workspace: Path
    resolution: Resolution | None = None
    services: ToolServices = field(default_factory=ToolServices)


@dataclass(frozen=True)
class ToolOutput:
    """What a call gave, as the model reads it. `outside`: it holds content from elsewhere."""

    text: str
    is_error: bool = False
    outside: bool = False


@dataclass(frozen=True)
class Tool:
    """One tool.

    `replayable`: it only reads, so a call that a crash interrupted runs again. So does one that
    `idempotent` says has its effect once, however often it runs. `own_state`: it changes only
    Habakkuk's own records. `paths` names what a call touches, for approvals. `never` is given the
    arguments and the workspace and says why nobody can allow a call, None mostly.
    """

    name: str
    description: str
    args: type[ToolArgs]
    run: Callable[[Any, ToolContext], ToolOutput]
    risk: Risk
    timeout_s: float
    replayable: bool
    own_state: bool
    paths: Callable[[Any], Sequence[str]] | None
    idempotent: Callable[[Any], bool] | None = None
    never: Callable[[Any, Path], str | None] | None = None

    # Once: a schema takes half a millisecond to make, and every model call names every tool.
    @cached_property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        return ToolSpec(self.name, self.description, self.args.model_json_schema())

    def runs_again(self, arguments: dict[str, Any]) -> bool:
        """Whether a call that a crash interrupted may run once more."""
        if self.idempotent is None:
            return self.replayable
        try:
            return self.idempotent(self.parse(arguments))
        except ToolError:
            return False

    def parse(self, arguments: dict[str, Any]) -> ToolArgs:
        """Return the arguments, checked. Raises ToolError that says what is wrong with which."""
        try:
            # A copy: a tool may change what it is given, and the transcript may not change.
            return self.args.model_validate(deepcopy(arguments))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
                for fault in error.errors()
            )
            raise ToolError(
                f"{self.name}: the arguments do not fit its schema: {faults}"
            ) from error


def tool(  # noqa: PLR0913 - facts of a tool, each named where it is declared
    *,
    risk: Risk,
    timeout_s: float = 60.0,
    replayable: bool = False,
    own_state: bool = False,
    paths: Callable[[Any], Sequence[str]] | None = None,
    idempotent: Callable[[Any], bool] | None = None,
    never: Callable[[Any, Path], str | None] | None = None,
) -> Callable[[Callable[[_Args, ToolContext], ToolOutput]], Tool]:
    """Make a Tool of a function `(args, context) -> ToolOutput` whose docstring describes it."""

    def make(function: Callable[[_Args, ToolContext], ToolOutput]) -> Tool:
        args = get_type_hints(function)["args"]
        return Tool(
            name=function.__name__,
            description=inspect.getdoc(function) or "",
            args=args,
            run=function,
            risk=risk,
            timeout_s=timeout_s,
            replayable=replayable,
            own_state=own_state,
            paths=paths,
            idempotent=idempotent,
            never=never,
        )

    return make


class WaitFor(Exception):
    """Raised by a tool that must wait for a person or a child before it can go on.

    The turn parks; when the wait is resolved the tool runs again with `context.resolution` set.
    """

    def __init__(self, kind: str, payload: dict[str, Any], expires_in: float | None = None) -> None:
        """Say what is waited for; `expires_in` is in seconds, None waits for ever."""
        super().__init__(kind)
        self.kind = kind
        self.payload = payload
        self.expires_in = expires_in
