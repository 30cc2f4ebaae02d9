"""What is said of processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from habakkuk.processes.types import ProcessState, process_id
from habakkuk.processes.words import notice, short, span, standing
from tests.fakes.processes import RUNNING


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0s"), (0.44, "0.4s"), (1, "1s"), (59.9, "59s"), (123, "2m3s"), (7384, "2h3m4s")],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("state", "code", "text"),
    [
        (ProcessState.EXITED, 3, "exited with code 3 after 2m3s"),
        (ProcessState.EXITED, -9, "was ended by SIGKILL after 2m3s"),
        (ProcessState.EXITED, -250, "was ended by signal 250 after 2m3s"),
        (ProcessState.TIMED_OUT, -15, "was killed after 2m3s, the time it was given"),
        (ProcessState.RUNNING, None, "runs, for 2m3s"),
    ],
)
def test_its_state_follows_its_name(state: ProcessState, code: int | None, text: str) -> None:
    assert standing(replace(RUNNING, state=state, code=code)) == text


@pytest.mark.parametrize("state", list(ProcessState))
def test_every_state_has_its_words(state: ProcessState) -> None:
    process = replace(RUNNING, state=state, code=0, reason="{curly}")
    assert standing(process)
    assert standing(replace(process, ran=None, code=None))


def test_a_notice_names_the_process_and_the_command_on_one_line() -> None:
    process = replace(
        RUNNING, state=ProcessState.EXITED, code=0, command="make \\\n  all\n" + "x" * 500
    )
    told = notice(process)
    assert told.startswith("Background process p_1 (make \\ all xxx")
    assert "…) exited with code 0 after 2m3s." in told
    assert "\n" not in told
    assert len(short(process.command)) == 120


def test_an_id_comes_from_the_call_and_is_short() -> None:
    assert process_id("turn", "call") == process_id("turn", "call")
    assert process_id("turn", "call") != process_id("turn", "other")
    assert len(process_id("turn", "call")) == 18
