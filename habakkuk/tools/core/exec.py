"""Running a command."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.tools.commands import Ended, Order
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.hardline.check import hardline
from habakkuk.tools.texts import encode
from habakkuk.tools.workspace import inside, open_workspace

_LONGEST = 600.0
# A single argument of a program may have 128 KB on Linux (MAX_ARG_STRLEN).
_SCRIPT_BYTES = 120_000


class ExecArgs(ToolArgs):
    """What to run, for how long at most, and where."""

    command: str = Field(
        min_length=1, max_length=_SCRIPT_BYTES, description="A script for the shell (bash)."
    )
    timeout_seconds: float = Field(
        default=120.0, gt=0, le=_LONGEST, description="After this it is killed."
    )
    cwd: str = Field(
        default=".", description="The folder to start in, from the workspace on; the workspace."
    )


def _never(args: ExecArgs, workspace: Path) -> str | None:
    return hardline(args.command, workspace / args.cwd)


@tool(risk=Risk.EXECUTE, timeout_s=_LONGEST + 20, paths=lambda args: [args.cwd], never=_never)
def exec(args: ExecArgs, context: ToolContext) -> ToolOutput:
    """Run a shell command in the workspace and return what it printed and its exit code.

    It gets no input and a fresh environment. When it ends, everything that it started ends too: a
    server or a job in the background does not stay.
    """
    if len(encode(args.command, "the command")) > _SCRIPT_BYTES:
        raise ToolError("the command is too long; write it to a file and run that")
    with open_workspace(context.workspace) as workspace, workspace.folder(args.cwd) as handle:
        folder = context.workspace.joinpath(*inside(args.cwd, context.workspace))
        found = os.fstat(handle)
    place = (found.st_dev, found.st_ino)
    order = Order(args.command, folder, args.timeout_seconds, place, context.agent)
    ended = context.services.commands.run(order, context.workspace, context.interrupt)
    return ToolOutput(_told(ended, args), is_error=ended.timed_out or ended.code != 0)


def _told(ended: Ended, args: ExecArgs) -> str:
    output, errors = ended.output.text(), ended.errors.text()
    parts = [output.removesuffix("\n")] if output else []
    if errors:
        parts.append(f"[standard error]\n{errors.removesuffix(chr(10))}")
    parts.append(f"[{_how(ended, args)}]")
    return "\n".join(parts)


def _how(ended: Ended, args: ExecArgs) -> str:
    if ended.timed_out:
        return f"killed after {args.timeout_seconds:g} s, the time it was given"
    if ended.code is not None and ended.code < 0:
        return f"killed by {_name(-ended.code)} after {ended.seconds:.1f} s"
    return f"exit code {ended.code}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
