"""Rules of two .gitignore files and a path: ignored or not, as git says."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from hypothesis import strategies as st

from habakkuk.tools.search.walker import Ignores

_PIECE = st.sampled_from(
    ["a", "b", "ab", "*", "**", "?", "/", "/", "!", "[ab]", "[!a]", "[a-c]", "\\", "#", "*.x", " "]
)
_RULE = st.lists(_PIECE, min_size=1, max_size=6).map("".join)
_RULES = st.lists(_RULE, max_size=4).map("\n".join)
_PATH = st.lists(
    st.sampled_from(["a", "b", "ab", "a b", "c.x", "#", "!a", "abc"]), min_size=1, max_size=4
)
STRATEGY = st.tuples(_RULES, _RULES, _PATH.map("/".join)).map(lambda t: "\0".join(t).encode())
_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent"}  # fmt: skip


def check(data: bytes) -> None:
    """Ask both."""
    outer, _, rest = data.decode("utf-8", "replace").partition("\0")
    inner, _, path = rest.partition("\0")
    names = path.split("/")
    if not all(names) or {".", "..", ".git"} & set(names) or "\0" in path:
        return
    assert _ours(outer, inner, names) == _gits(outer, inner, names)


def _ours(outer: str, inner: str, names: list[str]) -> bool:
    ignores = Ignores().below("", outer)
    for depth in range(1, len(names) + 1):
        path = "/".join(names[:depth])
        if ignores.ignored(path, folder=depth < len(names)):
            return True
        if depth == 1 < len(names):
            ignores = ignores.below(f"{path}/", inner)
    return False


@functools.cache
def _place() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="habakkuk-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env=_ENV)
    return folder


def _gits(outer: str, inner: str, names: list[str]) -> bool:
    place = _place()
    top = place / names[0]
    shutil.rmtree(top, ignore_errors=True)
    top.unlink(missing_ok=True)
    (place / ".gitignore").write_bytes(outer.encode())
    if len(names) > 1:
        top.mkdir()
        (top / ".gitignore").write_bytes(inner.encode())
        place.joinpath(*names[:-1]).mkdir(parents=True, exist_ok=True)
    place.joinpath(*names).touch()
    ran = subprocess.run(
        ["git", "check-ignore", "-q", "--no-index", "--stdin", "-z"],
        input="/".join(names).encode(), cwd=place, env=_ENV, check=False, capture_output=True,
    )  # fmt: skip
    assert ran.returncode in {0, 1}, ran.stderr
    return ran.returncode == 0
