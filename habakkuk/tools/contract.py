"""What a tool is: typed arguments, a docstring for the model, and facts that the walls go by."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError

from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.types import Media, ToolSpec
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

    `resolution` is set when the call raised WaitFor before and that wait has ended. `attended`: the
    turn's user can be asked.
    """

    call_id: str
    session_id: str
    turn_id: str
    agent: str
    interrupt: Interrupt
    workspace: Path
    resolution: Resolution | None = None
    services: ToolServices = field(default_factory=ToolServices)
    attended: bool = False


@dataclass(frozen=True)
class ToolOutput:
    """What a call gave, as the model reads it. `outside`: it holds content from elsewhere.

    `media` are files that the model sees after the results of the step: stored already, since the
    record of the call only names them.
    """

    text: str
    is_error: bool = False
    outside: bool = False
    media: tuple[Media, ...] = ()


@dataclass(frozen=True)
class Tool:
    """One tool.

    `replayable`: it only reads, so a call that a crash interrupted runs again. So does one that
    `idempotent` says has its effect once, however often it runs. `own_state`: it changes only
    Habakkuk's own records. `paths` names what a call touches, or the
    addresses that it calls, for approvals. `never` is given the
    arguments and the workspace and says why nobody can allow a call, None mostly. `risk_of` is
    there where some calls do more than `risk`, the least of them. `free` is given the arguments and
    the workspace and says that a call needs nobody's leave in any mode. `needs_channels`: it is
    only there where an account of a channel is.
    """

    name: str
    description: str
    args: type[ToolArgs]
    run: Callable[[Any, ToolContext], ToolOutput]
    risk: Risk
    timeout_s: float = 60.0
    replayable: bool = False
    own_state: bool = False
    paths: Callable[[Any], Sequence[str]] | None = None
    idempotent: Callable[[Any], bool] | None = None
    never: Callable[[Any, Path], str | None] | None = None
    risk_of: Callable[[Any], Risk] | None = None
    free: Callable[[Any, Path], bool] | None = None
    needs_channels: bool = False

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

    def risk_with(self, args: ToolArgs) -> Risk:
        """Return what a call with these arguments can do."""
        return self.risk if self.risk_of is None else self.risk_of(args)

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


def nothing(_args: ToolArgs) -> Sequence[str]:
    """Return no path and no address: for `paths` of tools that call what the operator chose."""
    return ()


def tool(
    *,
    risk: Risk | Callable[[Any], Risk],
    timeout_s: float = 60.0,
    replayable: bool | Callable[[Any], bool] = False,
    own_state: bool = False,
    paths: Callable[[Any], Sequence[str]] | None = None,
    never: Callable[[Any, Path], str | None] | None = None,
) -> Callable[[Callable[[_Args, ToolContext], ToolOutput]], Tool]:
    """Make a Tool of a function `(args, context) -> ToolOutput` whose docstring describes it.

    `risk` is a function where some calls do more than read. `replayable` is one where it goes by
    the arguments: of a tool that does not only read, but has its effect once a call.
    """

    def make(function: Callable[[_Args, ToolContext], ToolOutput]) -> Tool:
        args = get_type_hints(function)["args"]
        return Tool(
            name=function.__name__,
            description=inspect.getdoc(function) or "",
            args=args,
            run=function,
            risk=risk if isinstance(risk, Risk) else Risk.READ,
            timeout_s=timeout_s,
            replayable=replayable is True,
            own_state=own_state,
            paths=paths,
            idempotent=replayable if callable(replayable) else None,
            never=never,
            risk_of=None if isinstance(risk, Risk) else risk,
        )

    return make


def in_chat(free: Callable[[Any, Path], bool] | None = None) -> Callable[[Tool], Tool]:
    """Make a tool one that is only there where an account of a channel is.

    `free` is given a call's arguments and the workspace, and says that it needs nobody's leave.
    """
    return lambda made: replace(made, needs_channels=True, free=free)


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
