"""Running a command."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from habakkuk.core.errors import ToolError
from habakkuk.processes.types import NewProcess, ProcessState, process_id
from habakkuk.processes.words import standing
from habakkuk.tools.background import desk_of
from habakkuk.tools.commands import Ended, Order
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.hardline.check import hardline
from habakkuk.tools.paths import inside
from habakkuk.tools.texts import encode
from habakkuk.tools.workspace import open_workspace

_USUAL, _LONGEST = 120.0, 600.0
# A single argument of a program may have 128 KB on Linux (MAX_ARG_STRLEN).
_SCRIPT_BYTES = 120_000


class ExecArgs(ToolArgs):
    """What to run, for how long at most, and where."""

    command: str = Field(
        min_length=1, max_length=_SCRIPT_BYTES, description="A script for the shell (bash)."
    )
    timeout_seconds: float | None = Field(
        default=None,
        gt=0,
        description="After this it is killed: 120 by itself, at most 600; in the background never"
        " by itself.",
    )
    cwd: str = Field(
        default=".", description="The folder to start in, from the workspace on; the workspace."
    )
    secrets: list[str] = Field(
        default_factory=list,
        max_length=20,
        description="Names of secrets of yours that it gets in its environment.",
    )
    background: bool = Field(
        default=False, description="Return at once with a process id and let it run on."
    )
    notify: bool = Field(
        default=False,
        description="With background: when it ends by itself, you get a message in this session.",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.background:
            if self.secrets:
                raise ValueError("secrets are for commands that do not run in the background")
            return self
        if self.notify:
            raise ValueError("notify is for a command with background: true")
        if self.timeout_seconds is not None and self.timeout_seconds > _LONGEST:
            raise ValueError(
                f"timeout_seconds is at most {_LONGEST:g}; what takes longer runs with"
                " background: true"
            )
        return self


def _never(args: ExecArgs, workspace: Path) -> str | None:
    return hardline(args.command, workspace / args.cwd)


@tool(
    risk=Risk.EXECUTE,
    timeout_s=_LONGEST + 20,
    paths=lambda args: [args.cwd],
    # A process has its id from the call, so that the same call starts no second one.
    replayable=lambda args: bool(args.background),
    never=_never,
)
def exec(args: ExecArgs, context: ToolContext) -> ToolOutput:
    """Run a shell command in the workspace and return what it printed and its exit code.

    It gets no input and a fresh environment. When it ends, everything that it started ends too. A
    server, a watcher or a long job goes to the background (do not use &): process_output,
    process_wait, process_write and process_kill act on it.
    """
    if len(encode(args.command, "the command")) > _SCRIPT_BYTES:
        raise ToolError("the command is too long; write it to a file and run that")
    with open_workspace(context.workspace) as workspace, workspace.folder(args.cwd) as handle:
        folder = context.workspace.joinpath(*inside(args.cwd, context.workspace))
        found = os.fstat(handle)
    place = (found.st_dev, found.st_ino)
    if args.background:
        return _start(args, context, folder, place)
    seconds = args.timeout_seconds or _USUAL
    variables = context.services.secrets.variables(args.secrets, "exec", context.agent)
    order = Order(args.command, folder, seconds, place, context.agent, variables)
    ended = context.services.commands.run(order, context.workspace, context.interrupt)
    return ToolOutput(_told(ended, seconds), is_error=ended.timed_out or ended.code != 0)


def _start(
    args: ExecArgs, context: ToolContext, folder: Path, place: tuple[int, int]
) -> ToolOutput:
    new = NewProcess(
        process_id(context.turn_id, context.call_id),
        context.agent,
        context.session_id,
        context.turn_id,
        args.command,
        str(folder),
        place,
        args.timeout_seconds,
        args.notify,
    )
    process = desk_of(context).start(new, context.interrupt)
    notify = " You get a message when it ends by itself." if args.notify else ""
    lost = process.state is ProcessState.LOST
    return ToolOutput(f"{process.id} {standing(process)}.{notify}", is_error=lost)


def _told(ended: Ended, given: float) -> str:
    output, errors = ended.output.text(), ended.errors.text()
    parts = [output.removesuffix("\n")] if output else []
    if errors:
        parts.append(f"[standard error]\n{errors.removesuffix(chr(10))}")
    parts.append(f"[{_how(ended, given)}]")
    return "\n".join(parts)


def _how(ended: Ended, given: float) -> str:
    if ended.timed_out:
        return f"killed after {given:g} s, the time it was given"
    if ended.code is not None and ended.code < 0:
        return f"killed by {_name(-ended.code)} after {ended.seconds:.1f} s"
    return f"exit code {ended.code}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
