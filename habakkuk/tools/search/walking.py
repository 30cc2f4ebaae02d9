"""Start the walker, and end it when the turn does."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from habakkuk.core.agent_user import find_agent_user
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.programs import Bounds, Program, run
from habakkuk.tools.search.types import (
    LARGEST_FILE,
    LONGEST_LINE,
    MOST_FILES,
    SECONDS,
    Match,
    Query,
    Results,
    cut,
)

_PROGRAM = str(Path(__file__).with_name("walker.py"))
# It ends in time by itself, and shows 2,000 lines of a few hundred characters at most.
_BOUNDS = Bounds(SECONDS + 20.0, 64_000_000)
_GAVE_UP = {
    "files": f"gave up after {MOST_FILES:,} files; search in a folder of it",
    "seconds": f"gave up after {SECONDS} seconds; search in a folder of it",
}
_TOO_LONG = (
    "gave up: one file or folder took more than 2 seconds, by the pattern or by one of a .gitignore"
)


def walk(query: Query, workspace: Path, interrupt: Interrupt) -> Results:
    """Search with the walker. Raises ToolError on a pattern that is no regular expression."""
    program = Program([sys.executable, "-I", _PROGRAM])
    done = run(program, _BOUNDS, interrupt, _sheet(query, workspace))
    return _read(done.output, done.code)


def _sheet(query: Query, workspace: Path) -> bytes:
    user = find_agent_user() if os.geteuid() == 0 else None
    if os.geteuid() == 0 and user is None:
        raise ToolError("files are not searched as root, and the user of agents is missing")
    return json.dumps(
        {
            "workspace": str(workspace),
            "path": query.path,
            "pattern": query.pattern,
            "glob": query.glob,
            "ignore_case": query.ignore_case,
            "files_only": query.files_only,
            "most": query.most,
            "longest_line": LONGEST_LINE,
            "largest_file": LARGEST_FILE,
            "most_files": MOST_FILES,
            "seconds": SECONDS,
            "user": [user.uid, user.gid] if user else None,
        }
    ).encode()


def _read(output: bytes, code: int) -> Results:
    # The last line may be cut where the process was killed.
    *rows, last = output.decode().split("\n")[:-1] or [""]
    if code == -signal.SIGALRM:
        rows, end = output.decode().split("\n")[:-1], {"more": False, "gave_up": None}
        notes = [_TOO_LONG]
    elif code != 0 or not last.startswith("{"):
        raise ToolError(f"the search ended unexpectedly ({code}); narrow the pattern or the path")
    else:
        end = json.loads(last)
        notes = [_GAVE_UP[end["gave_up"]]] if end["gave_up"] else []
    if end.get("fault"):
        raise ToolError(str(end["fault"]))
    found = [json.loads(row) for row in rows]
    matches = [Match(path, number, cut(text)) for path, number, text in found]
    return Results(matches, bool(end["more"]), notes)
