"""Two texts: the diff between them, of another program, makes the one of the other."""

from __future__ import annotations

import difflib

from hypothesis import strategies as st

from habakkuk.tools.patches.locate import split
from habakkuk.tools.patches.plan import Found, plan
from habakkuk.tools.patches.read import read_patch

# Lines that are easily confused.
_LINE = st.sampled_from(["a\n", "b\n", "c\n", " a\n", "a \n", "\n", "\r\n", "a\r\n", "é\x0b\n"])
_LAST = st.sampled_from(["", "end", "a"])
_TEXT = st.tuples(st.lists(_LINE, max_size=14), _LAST).map(lambda t: "".join(t[0]) + t[1])
STRATEGY = st.tuples(_TEXT, _TEXT).map(lambda pair: "\0".join(pair).encode())
_MARK = "\\ No newline at end of file\n"


def check(data: bytes) -> None:
    """Make the diff and put it on the first text."""
    before, _, after = data.decode("utf-8", "replace").partition("\0")
    if (
        before == after
        or "\0" in after
        or after.startswith("\ufeff")
        or before.startswith("\ufeff")
    ):
        return
    lines = difflib.unified_diff(split(before), split(after), "a/f", "b/f", n=3)
    patch = "".join(line if line.endswith("\n") else f"{line}\n{_MARK}" for line in lines)
    made = plan(read_patch(patch), {"f": Found(before.encode(), 0o644)}.get, lambda: None)
    found = made.files["f"]
    assert found is not None
    assert found.data.decode() == after
