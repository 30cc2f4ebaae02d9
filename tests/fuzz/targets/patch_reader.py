"""Any text as a patch: it is read and planned, or refused in words; nothing else happens."""

from __future__ import annotations

from hypothesis import strategies as st

from habakkuk.core.errors import ToolError
from habakkuk.tools.patches.plan import Found, checked, plan
from habakkuk.tools.patches.read import read_patch

_LINES = r"""
*** Begin Patch|*** End Patch|*** Add File: new|*** Update File: f|*** Delete File: f
*** Move to: g|*** End of File|@@|@@ a|@@ ... @@|@@ -1 +1 @@|@@ -1,2 +1,3 @@|@@ -0,0 +1 @@
@@ -99999999999999999999 +1 @@|@@ -2,0 +3,1 @@|--- a/f|+++ b/f|--- /dev/null|+++ /dev/null
+++ b/new|diff --git a/f b/f|diff --git "a/\303" b/f|rename from f|rename to g|copy from f
copy to h|new file mode 100755|deleted file mode 100644|old mode 100644|new mode 100755
GIT binary patch|Binary files a/f and b/f differ|\ No newline at end of file| a|-a|+a| b|-b|+b|+c
| |-|+|-- |--- a/f	1970-01-01 00:00:00 +0000"""
_LINE = st.sampled_from([*_LINES[1:].replace("\n", "|").split("|"), "\r", " a\r", "+a\r"])
# Every byte stands for a character: text of its own takes ten seconds to be made ready.
_FREE = st.binary(max_size=12).map(lambda data: data.decode("latin-1"))
STRATEGY = st.lists(st.one_of(_LINE, _LINE, _LINE, _FREE), max_size=25).map(
    lambda lines: "\n".join(lines).encode("utf-8", "replace")
)
_FILES = {"f": Found(b"a\nb\na\r\nc", 0o644), "k": Found(b"", 0o600)}


def check(data: bytes) -> None:
    """Read and plan it."""
    text = data.decode("utf-8", "replace")
    try:
        parts = checked(read_patch(text), str)
        made = plan(parts, _FILES.get, lambda: None)
    except ToolError:
        return
    assert len(made.lines) == len(parts)
    touched = {path for part in parts for path in part.paths}
    assert set(made.files) <= touched
