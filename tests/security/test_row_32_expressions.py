"""Row 32: expressions of a model, and patterns of a workspace's files, that take for ever to match.

Each is tried with ripgrep, which has no such expressions, and with the walker, which is killed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.tools.core.search_files import search_files
from habakkuk.tools.search import ripgrep
from tests.fakes.toolbox import call, context

# An expression, and the line that it never ends on when matched by going back.
EXPRESSIONS = [
    ("(a+)+$", "a" * 60 + "!"),
    ("(a|aa)+$", "a" * 60 + "!"),
    ("(a|a)*$", "a" * 60 + "!"),
    ("(.*a){25}$", "a" * 60 + "!"),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60 + "!"),
    ("(x+x+)+y", "x" * 60),
    (r"(\w+\s?)+$", "w" * 60 + "!"),
    (r"^(\d+)*$", "1" * 60 + "x"),
    ("(?i)(A+)+$", "a" * 60 + "!"),
    ("((a*)*)*b", "a" * 60),
    ("a{1,60}a{1,60}a{1,60}a{1,60}a{1,60}b", "a" * 300),
    ("(a?){60}a{60}!", "a" * 60),
]
STARS = "*a" * 40 + "b"
NAME = "a" * 200


@pytest.fixture(params=["ripgrep", "walker"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "walker":
        monkeypatch.setattr(ripgrep, "search", lambda *_: None)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("pattern", "line"), EXPRESSIONS)
def test_a_models_expression_ends(tmp_path: Path, pattern: str, line: str) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "file").write_text(f"{line}\n")
    output = call(search_files, context(folder), pattern=pattern)
    # It ended: with an answer, a word that it gave up, or a refusal of what would grow too large.
    assert output.text


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("rule", [STARS, f"{STARS}/", f"x/{STARS}", f"**/{STARS}/**", f"!{STARS}"])
def test_a_rule_of_a_gitignore_ends(tmp_path: Path, rule: str) -> None:
    folder = tmp_path / "w"
    (folder / "x").mkdir(parents=True)
    (folder / ".gitignore").write_text(f"{rule}\n")
    for place in (folder, folder / "x"):
        (place / NAME).write_text("found\n")
    assert call(search_files, context(folder), pattern="found").text
    assert call(search_files, context(folder), pattern="found", path="x").text


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("glob", [STARS, f"x/{STARS}", "**/" * 100 + "b", "{a,b}" * 60, "[" * 400])
def test_a_models_glob_ends(tmp_path: Path, glob: str) -> None:
    folder = tmp_path / "w"
    (folder / "x").mkdir(parents=True)
    (folder / "x" / NAME).write_text("found\n")
    assert call(search_files, context(folder), pattern="found", glob=glob).text
