"""Search with ripgrep, run as a command of the agent's: by its user, in its view of the files."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.commands import Commands, Order
from habakkuk.tools.search.types import (
    LARGEST_FILE,
    LONGEST_LINE,
    SECONDS,
    Match,
    Query,
    Results,
    cut,
)
from habakkuk.tools.search.walker import fits

_MISSING = "no ripgrep here"
# More is not read: one line of each match fits well into it.
_MOST_BYTES = 900_000
_LONGEST_RULES = 60_000
# Only .gitignore counts, as for the walker, and whether or not this is a git repository.
_FIXED = (
    "--no-config",
    "--color=never",
    "--no-heading",
    "--with-filename",
    "--null",
    "--crlf",
    "--sort=path",
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--no-ignore-dot",
    "--no-ignore-messages",
    "--no-messages",
    "--no-mmap",
    "--ignore-file=/dev/stdin",
    f"--max-filesize={LARGEST_FILE}",
)
_LINE = re.compile(r"([^\0]+)\0(\d+):([^\n]*)\n")
_CODE = re.compile(r"^code (\d+)$", re.MULTILINE)
_BROKEN_PIPE = 141


def search(
    query: Query, rules: str, workspace: Path, commands: Commands, interrupt: Interrupt
) -> Results | None:
    """Search; None when there is no ripgrep that the agent's user can run.

    `rules` are those of .gitignore files above the path, written as from the workspace on. Raises
    ToolError on a pattern that ripgrep refuses.
    """
    glob = f"*\n!*/\n!{_glob(query.glob)}\n.*\n" if query.glob else ""
    given = glob + rules
    if len(given.encode()) > _LONGEST_RULES:
        return None
    order = Order(_script(query, given), workspace, SECONDS, here=True)
    ended = commands.run(order, workspace, interrupt)
    errors = ended.errors.text()
    if _MISSING in errors:
        return None
    code = _CODE.search(errors)
    notes = (
        [f"gave up after {SECONDS} seconds; search in a folder of it"] if ended.timed_out else []
    )
    if code is not None and int(code[1]) not in {0, 1, _BROKEN_PIPE}:
        said = _CODE.sub("", errors).strip()
        if said:
            raise ToolError(f"the search failed: {said[:2_000]}")
        notes.append("some files could not be read")
    output = ended.output.text()
    matches = _matches(output, query)
    if query.glob:
        # A rule of a .gitignore may have let a file in again that the glob leaves out.
        matches = [match for match in matches if fits(query.glob, match.path)]
    more = len(matches) > query.most or len(output.encode()) >= _MOST_BYTES
    return Results(matches[: query.most], more, notes)


def _glob(glob: str) -> str:
    return glob.replace("\n", "?").removeprefix("!")


def _script(query: Query, rules: str) -> str:
    own = str(Path(sys.executable).with_name("rg"))
    arguments = [*_FIXED, f"--max-count={query.most + 1}", *_chosen(query)]
    path = "./" if query.path == "." else f"./{query.path}"
    shown = shlex.join([*arguments, "-e", query.pattern, "--", path])
    # The pipe ends ripgrep as soon as there is enough.
    return (
        f"rg={shlex.quote(own)}\n"
        f'test -x "$rg" || rg=$(command -v rg) || {{ echo {shlex.quote(_MISSING)} >&2; exit; }}\n'
        f'{{ printf %s {shlex.quote(rules)} | "$rg" {shown}; echo code $? >&2; }}'
        f" | head -c {_MOST_BYTES}\n"
    )


def _chosen(query: Query) -> Sequence[str]:
    chosen = ["--ignore-case"] if query.ignore_case else []
    if query.files_only:
        return [*chosen, "--files-with-matches"]
    # It cuts by bytes and says so; one more than is shown tells what is cut.
    return [*chosen, "--line-number", f"--max-columns={LONGEST_LINE * 4}", "--max-columns-preview"]


def _matches(output: str, query: Query) -> list[Match]:
    if query.files_only:
        return [Match(_shown(name)) for name in output.split("\0")[:-1]]
    return [
        Match(_shown(name), int(number), cut(text.removesuffix("\r")))
        for name, number, text in _LINE.findall(output)
    ]


def _shown(name: str) -> str:
    return name.removeprefix("./")
