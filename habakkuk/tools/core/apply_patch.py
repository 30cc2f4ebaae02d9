"""Changing several files at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.patches.plan import Found, checked, plan
from habakkuk.tools.patches.read import read_patch
from habakkuk.tools.patches.types import FilePatch
from habakkuk.tools.paths import inside
from habakkuk.tools.workspace import Change, Workspace, open_workspace

_LONGEST = 5_000_000
_LARGEST = 20_000_000


class ApplyPatchArgs(ToolArgs):
    """The patch."""

    patch: str = Field(
        min_length=1,
        max_length=_LONGEST,
        description="A unified diff, or '*** Begin Patch' … '*** End Patch' with '*** Add File:"
        " path', '*** Update File: path' (and '*** Move to: path') or '*** Delete File: path'. Each"
        " hunk: '@@' and a line that stands before it, if that is needed to find it, then lines"
        " that begin with ' ', '-' or '+'.",
    )


def _paths(args: ApplyPatchArgs) -> Sequence[str]:
    """Name what the patch touches; one that cannot be read touches nothing."""
    try:
        return [path for part in read_patch(args.patch) for path in part.paths]
    except ToolError:
        return []


@tool(risk=Risk.WRITE, timeout_s=60, paths=_paths)
def apply_patch(args: ApplyPatchArgs, context: ToolContext) -> ToolOutput:
    """Change, add, move and delete text files of the workspace with one patch.

    Hunks are found by their text; line numbers are hints. All of it is applied, or nothing when one
    hunk does not fit.
    """
    context.services.commands.refuse_writing(context.agent)
    with open_workspace(context.workspace) as workspace:
        parts = checked(read_patch(args.patch), lambda path: _canonical(path, workspace.path))
        with _alone(workspace, parts, context.interrupt):
            made = plan(parts, lambda path: _look(workspace, path), context.interrupt.check)
            changes = [_change(path, found) for path, found in made.files.items()]
            context.interrupt.check()
            hit = context.services.failpoints.hit
            workspace.change(changes, lambda: hit("patch.step.after"))
    if not changes:
        return ToolOutput("The files hold all of this already; nothing was changed.")
    return ToolOutput("\n".join(["Applied:", *made.lines]))


def _canonical(path: str, workspace: Path) -> str:
    names = inside(path, workspace)
    if not names:
        raise ToolError(f"{path!r}: name a file in the workspace")
    return "/".join(names)


def _look(workspace: Workspace, path: str) -> Found | None:
    mode = workspace.mode(path)
    return None if mode is None else Found(workspace.read(path, _LARGEST), mode)


def _change(path: str, found: Found | None) -> Change:
    return Change(path, None) if found is None else Change(path, found.data, found.mode)


@contextmanager
def _alone(
    workspace: Workspace, parts: Sequence[FilePatch], interrupt: Interrupt
) -> Iterator[None]:
    """Keep other edits out of every folder that is there already.

    In one order for all, so that two patches never wait for each other.
    """
    one_of_each = {path.rpartition("/")[0]: path for part in parts for path in part.paths}
    with ExitStack() as stack:
        for _, path in sorted(one_of_each.items()):
            if workspace.has_folder(path):
                stack.enter_context(workspace.alone(path, interrupt))
        yield
