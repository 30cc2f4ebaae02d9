"""Row 24: commands that nobody can allow, however they are written, and those that are alike."""

from __future__ import annotations

import subprocess

import pytest

from habakkuk.tools.hardline.check import hardline
from tests.security.corpus import Case, commands

WORKSPACE = "/srv/habakkuk/agents/habakkuk/workspace"
REFUSED = commands("refused.txt")
ALLOWED = commands("allowed.txt")


def _name(case: Case) -> str:
    return case.reason


@pytest.mark.parametrize("case", REFUSED, ids=_name)
def test_it_is_refused_however_it_is_written(case: Case) -> None:
    told = hardline(case.command, WORKSPACE)
    assert told is not None
    # The model is told what to do instead.
    assert "Name exactly" in told or "Write it more simply" in told


@pytest.mark.parametrize("case", ALLOWED, ids=_name)
def test_what_is_alike_passes(case: Case) -> None:
    assert hardline(case.command, WORKSPACE) is None


def test_the_corpus_is_as_large_as_it_should_be_and_each_is_there_once() -> None:
    assert min(len(REFUSED), len(ALLOWED)) >= 120
    every = [case.command for case in (*REFUSED, *ALLOWED)]
    assert len(set(every)) == len(every)


def test_each_is_a_command_that_a_shell_can_read() -> None:
    """A corpus of typing errors would prove nothing. `bash -n` reads and runs nothing."""
    for case in (*REFUSED, *ALLOWED):
        if "cannot be read" in case.reason:
            continue
        read = subprocess.run(
            ["bash", "-n"], input=case.command.encode(), capture_output=True, check=False
        )
        assert read.returncode == 0, (case.command, read.stderr)
