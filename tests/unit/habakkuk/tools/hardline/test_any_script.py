"""Any text at all may be a command: reading it never raises, and never takes long."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from habakkuk.tools.hardline.check import hardline

# Twice the check's own limit, with what the rest may take on a busy machine.
_SECONDS = 20.0
_PIECES = [
    "rm -rf /", "curl https://a.b/c", "| sh", "$(", ")", "`", "\"", "'", "\\", "\n", "<<E\n", "E\n",
    "{", "}", "(", "((", "))", "[[", "]]", "if", "then", "fi", "for x in", "do", "done", "while",
    "case", "esac", ";;", "&", "&&", "||", ";", "$x", "${x:-", "${x[", "x=", "x=(", "<(", ">(",
    "{a,b}", "{1..9}", "*", "~", "/", "sudo", "env -S", "xargs", "eval", "bash -c", "f() {", "$'",
    "<<<", ">", "> /dev/sda", "#", "\0", "\ufdd0", "\ufdd1", "\ufde4", "é", "🚀", "find . -exec",
    "3<&0", "<&3", "3<>", "{fd}<", "exec", "${x:0:1}", "${x//a/b}", "${!x}", "IFS=_", "ln -s / x",
    "x/*", "git -c alias.x='!", "tar --to-command=", "read -u3", "tee x", "sh x", "$(<", "coproc",
    "python3 -c", "base64 -d", "printf %s", "trap", "set --", "\"$@\"", "alias a=", "read", " ",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read(script: str) -> None:
    assert hardline(script, "/w") is None or isinstance(hardline(script, None), str | None)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=40).map(" ".join))
@example("f() { f; }; f")
@example("alias a=a; a")
@example("alias a='b;a'; a; a")
@example("x=$x$x$x$x; " * 50 + "rm -rf $x")
def test_any_pieces_of_commands_are_read(script: str) -> None:
    hardline(script, "/w")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_any_pieces_without_blanks_are_read(script: str) -> None:
    hardline(script, "/w", fresh=False)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=12).map(" ".join))
def test_what_is_refused_is_refused_behind_something_harmless(script: str) -> None:
    """Putting a whole command before cannot hide what follows."""
    if hardline(script, "/w") is not None:
        assert hardline(f"true\n{script}", "/w") is not None


@pytest.mark.parametrize(
    "script",
    [
        "$(" * 20_000,
        "(" * 60_000,
        "{" * 60_000,
        "<<A " * 20_000,
        "${a:-" * 20_000,
        "`" * 50_001,
        "if a; then " * 10_000,
        "{a,b}" * 10_000,
        "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
        "x=a; " + "x=$x$x; " * 2_000 + "echo $x",
        "a | " * 20_000 + "b",
        "rm -rf " + "a " * 50_000,
        "bash -c '" * 3_000,
        "eval " * 20_000 + "ls",
        "sudo " * 20_000 + "ls",
        "f() { g; }; g() { f; }; " + "f; " * 5_000,
        "echo " + "$(echo a)" * 5_000,
        "while read x; do " * 3_000,
        "printf '" + "%s" * 20_000 + "' a",
        "echo a | " + "tee >(cat) | " * 2_000 + "cat",
        "x" * 190_000,
        "\\\n" * 90_000,
    ],
    ids=lambda script: script[:12],
)
def test_whatever_grows_is_bounded(script: str) -> None:
    started = time.monotonic()
    hardline(script, "/w")
    assert time.monotonic() - started < _SECONDS


def test_what_is_too_long_is_refused() -> None:
    told = hardline("a" * 200_001, "/w")
    assert told is not None
    assert "too long" in told


def test_what_cannot_be_followed_to_its_end_is_refused_when_it_looks_dangerous() -> None:
    deep = "rm -rf / x; " + "(" * 50_000
    told = hardline(deep, "/w")
    assert told is not None
    assert "more simply" in told


# In a process of its own: the grammar's scanner read beyond a table, which ended the process.
_EVERY_PLANE = """
import random
from habakkuk.tools.hardline.check import hardline
random.seed(1)
for low, high in ((0x80, 0xff), (0x100, 0xffff), (0xfdd0, 0xfdef), (0xf0000, 0x10ffff)):
    for _ in range(600):
        picked = (random.randint(1, 127), random.randint(low, high))
        hardline("".join(chr(random.choice(picked)) for _ in range(random.randint(0, 60))), "/w")
"""


def test_letters_of_no_script_end_no_process() -> None:
    assert subprocess.run([sys.executable, "-c", _EVERY_PLANE], check=False).returncode == 0


@pytest.mark.parametrize("name", ["é", "\U000f0000", "\U0010ffff", "文件", "\x85", "\xff"])
def test_foreign_letters_hide_nothing(name: str) -> None:
    assert hardline(f"ls {name}; rm -rf /", "/w") is not None
    assert hardline(f"{name}(){{ rm -rf /; }}; ö(){{ true; }}; {name}", "/w") is not None
    assert hardline(f"rm -rf {name}/build", "/w") is None
