from __future__ import annotations

import json

from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run


def test_a_session_is_shown_as_the_model_sees_it(worker: Stack, run: Run) -> None:
    said = json.loads(run("ask", "--json", "hello").stdout)
    shown = run("sessions", "show", said["session"]).stdout
    assert "user:\n[" in shown
    assert shown.endswith("\nhello\n\nassistant:\necho: hello\n")


def test_sessions_are_listed(worker: Stack, run: Run) -> None:
    said = json.loads(run("ask", "--json", "hello").stdout)
    listed = json.loads(run("sessions", "list", "-o", "json").stdout)
    assert [one["id"] for one in listed["sessions"]] == [said["session"]]
    assert said["session"] in run("sessions", "list").stdout


def test_jobs_are_listed_by_state(worker: Stack, run: Run) -> None:
    done = json.loads(run("ask", "--json", "hello").stdout)
    failed = json.loads(run("ask", "--json", "hello [[status 401]]").stdout)
    listed = json.loads(run("jobs", "list", "--state", "failed", "-o", "json").stdout)
    assert [one["id"] for one in listed["jobs"]] == [failed["turn"]]
    assert "MINE_KEY" in listed["jobs"][0]["error"]
    assert done["turn"] in run("jobs", "list").stdout


def test_a_waiting_message_can_be_cancelled(stack: Stack, run: Run) -> None:
    admitted = stack.say("hello")
    assert admitted.turn_id is not None
    assert run("jobs", "cancel", admitted.turn_id).stdout == f"{admitted.turn_id} is cancelled.\n"
    assert stack.turn(admitted.turn_id).outcome == "cancelled"
    assert run("jobs", "cancel", admitted.turn_id).exit_code == 1


def test_an_unknown_job_says_where_to_look(run: Run) -> None:
    for words in ("show", "retry", "cancel"):
        result = run("jobs", words, "nothing")
        assert result.exit_code == 1
        assert "habakkuk jobs list" in result.stderr


def test_chat_answers_each_line_of_a_pipe(worker: Stack, run: Run) -> None:
    result = run("chat", stdin="one\n\n/new\ntwo\n/quit\nthree\n")
    assert result.exit_code == 0
    assert result.stdout == ("echo: one\nA new session starts with your next message.\necho: two\n")
    listed = json.loads(run("sessions", "list", "-o", "json").stdout)
    assert len(listed["sessions"]) == 2


def test_chat_through_a_pipe_fails_when_an_answer_did(worker: Stack, run: Run) -> None:
    result = run("chat", stdin="one [[status 401]]\n/new\ntwo\n")
    assert result.exit_code == 1
    assert result.stdout.endswith("\necho: two\n")
    assert "MINE_KEY" in result.stderr
