"""Searching the contents of files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.paths import inside
from habakkuk.tools.search import ripgrep
from habakkuk.tools.search.rules import rules_above
from habakkuk.tools.search.types import MOST_RESULTS, SECONDS, Match, Query, Results
from habakkuk.tools.search.walking import walk
from habakkuk.tools.texts import encode
from habakkuk.tools.workspace import Workspace, open_workspace

_LONGEST = 10_000


class SearchFilesArgs(ToolArgs):
    """What to look for, and where."""

    pattern: str = Field(
        min_length=1, max_length=_LONGEST, description="A regular expression for one line."
    )
    path: str = Field(default=".", description="A folder or file, from the workspace on; all.")
    glob: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description="Only files like this: *.py at any depth, src/**/*.ts from the workspace on.",
    )
    ignore_case: bool = Field(default=False, description="Take upper and lower case for the same.")
    files_only: bool = Field(default=False, description="Give the names of files alone.")
    max_results: int = Field(default=200, ge=1, le=MOST_RESULTS, description="Stop after as many.")


@tool(risk=Risk.READ, timeout_s=SECONDS + 30, replayable=True, paths=lambda args: [args.path])
def search_files(args: SearchFilesArgs, context: ToolContext) -> ToolOutput:
    """Search the contents of the workspace's files by regular expression: path:line:text.

    What .gitignore names, hidden and binary files and those over 5 MB are passed over.
    """
    for text, what in ((args.pattern, "the pattern"), (args.glob or "", "the glob")):
        encode(text, what)
    if "\n" in args.pattern:
        raise ToolError("the pattern holds a line feed, but is matched against single lines")
    with open_workspace(context.workspace) as workspace:
        path = _checked(workspace, args.path)
        rules = rules_above(workspace, path)
    query = Query(
        args.pattern, path, args.glob, args.ignore_case, args.files_only, args.max_results
    )
    found = ripgrep.search(
        query, rules, context.workspace, context.services.commands, context.interrupt
    )
    if found is None:
        found = walk(query, context.workspace, context.interrupt)
    return ToolOutput(_told(_own(found, context.workspace), query))


def _own(found: Results, path: Path) -> Results:
    """Return the results without those that the workspace's walls would not let be read.

    ripgrep knows nothing of second names of other people's files, nor that a folder was a link for
    a moment.
    """
    with open_workspace(path) as workspace:
        names = {match.path for match in found.matches}
        own = {name for name in names if _is_own(workspace, name)}
    if own == names:
        return found
    notes = [*found.notes, f"{len(names - own)} files left out: links, or names that are no UTF-8"]
    matches = [match for match in found.matches if match.path in own]
    return replace(found, matches=matches, notes=notes)


def _is_own(workspace: Workspace, name: str) -> bool:
    try:
        return workspace.mode(name) is not None
    except ToolError:
        return False


def _checked(workspace: Workspace, path: str) -> str:
    """Return a path in its one spelling; it leads to a file or a folder of the workspace."""
    names = inside(path or ".", workspace.path)
    plain = "/".join(names) or "."
    try:
        if names and workspace.mode(plain) is not None:
            return plain
    except ToolError:
        pass
    with workspace.folder(plain):
        return plain


def _told(found: Results, query: Query) -> str:
    lines = [_line(match) for match in found.matches]
    if not lines:
        lines = ["[no match]"]
    if found.more:
        lines.append(f"[more than {query.most} matches; narrow the pattern, the path or the glob]")
    return "\n".join([*lines, *(f"[{note}]" for note in found.notes)])


def _line(match: Match) -> str:
    path = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in match.path
    )
    return f"{path}:{match.number}:{match.text}" if match.number else path
