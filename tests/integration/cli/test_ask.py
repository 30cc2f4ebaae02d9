from __future__ import annotations

import json
from pathlib import Path

import pytest

from habakkuk.jobs.types import JobState
from tests.fakes.model_script import Reply
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.stack import Stack, until
from tests.integration.cli.conftest import Run
from tests.servers import ValkeyServer


def test_the_answer_alone_is_on_stdout(worker: Stack, run: Run) -> None:
    result = run("ask", "Hello,", "who", "are you?")
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "echo: Hello, who are you?\n",
        "",
    )


def test_json_names_the_session_and_the_turn(worker: Stack, run: Run) -> None:
    said = json.loads(run("ask", "--json", "hello").stdout)
    assert (said["version"], said["answer"], said["outcome"]) == (1, "echo: hello", "answered")
    assert worker.turn(said["turn"]).session_id == said["session"]


def test_a_session_goes_on(worker: Stack, run: Run, model: ModelServer) -> None:
    first = json.loads(run("ask", "--json", "one").stdout)
    second = json.loads(run("ask", "--json", "--session", first["session"], "two").stdout)
    assert second["session"] == first["session"]
    assert len(model.requests[-1].body["messages"]) > len(model.requests[0].body["messages"])


def test_an_unknown_session_is_named(worker: Stack, run: Run) -> None:
    result = run("ask", "--session", "ses_nobody", "hello")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "There is no session 'ses_nobody'\n"


def test_another_agents_session_is_not_taken_over(worker: Stack, run: Run) -> None:
    first = json.loads(run("ask", "--json", "one").stdout)
    result = run("ask", "--session", first["session"], "--agent", "other", "two")
    assert result.exit_code == 1
    assert "'habakkuk'" in result.stderr


def test_without_a_worker_nothing_is_sent(stack: Stack, run: Run) -> None:
    result = run("ask", "hello")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "No worker is running" in result.stderr
    assert "nothing was sent" in result.stderr
    assert stack.container.jobs.list() == []


def test_a_refused_key_says_what_to_set(worker: Stack, run: Run) -> None:
    result = run("ask", "hello [[status 401]]")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "MINE_KEY" in result.stderr
    assert "key-of-the-fake-service" not in result.stderr


def test_an_answer_that_broke_off_is_shown_and_is_no_success(worker: Stack, run: Run) -> None:
    result = run("ask", "hello [[tokens 20]] [[cut 3]]")
    assert result.exit_code == 1
    assert result.stdout.startswith("echo: hello")
    assert "broke off" in result.stderr


def test_a_pipe_is_the_message(worker: Stack, run: Run, model: ModelServer) -> None:
    result = run("ask", "shorten:", "-", stdin="a long text\n")
    assert result.stdout == "echo: shorten:\n\na long text\n"


def test_a_pipe_commands_nothing(worker: Stack, run: Run) -> None:
    assert run("ask", stdin="/status").stdout == "echo: /status\n"


def test_a_typed_command_is_answered_at_once(worker: Stack, run: Run, model: ModelServer) -> None:
    result = run("ask", "/status")
    assert result.exit_code == 0
    assert "Agent: habakkuk" in result.stdout
    assert model.requests == []


def test_a_database_without_tables_is_one_sentence(
    empty_database_url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_database_url)
    result = run("ask", "hello")
    assert result.exit_code == 3
    assert result.stderr == "The database has no tables yet; run `habakkuk migrate`\n"


def test_migrate_makes_it_usable(
    empty_database_url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_database_url)
    assert run("migrate").exit_code == 0
    assert run("migrate").exit_code == 0
    assert run("tokens", "list").exit_code == 0


def test_a_database_that_is_away_is_one_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://nobody@/none?host={tmp_path}")
    for words in (("ask", "hello"), ("migrate",), ("tokens", "list")):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr == "The database does not answer; try again in a few seconds\n"


def test_redis_away_changes_nothing_in_the_answer(
    worker: Stack, run: Run, monkeypatch: pytest.MonkeyPatch, redis_server: ValkeyServer
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_server.url())
    redis_server.kill()
    result = run("ask", "hello")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "echo: hello\n", "")


def test_a_failed_turn_is_answered_after_jobs_retry(
    worker: Stack, run: Run, model: ModelServer
) -> None:
    answers = iter([Reply([b"{}"], status=401, content_type="application/json")])

    def refuse_once(_: Recorded) -> Reply | None:
        return next(answers, None)

    model.script = refuse_once
    said = json.loads(run("ask", "--json", "hello").stdout)
    assert said["outcome"] == "failed"
    result = run("jobs", "retry", said["turn"])
    assert (result.exit_code, result.stdout) == (0, f"{said['turn']} runs again.\n")
    jobs = worker.container.jobs
    until(lambda: said["turn"] in [job.id for job in jobs.list([JobState.DONE])])
    reply = worker.container.conversations.reply(worker.turn(said["turn"]))
    assert reply is not None
    assert reply.body == "echo: hello"


def test_a_failed_turn_is_not_retried_once_the_session_went_on(worker: Stack, run: Run) -> None:
    first = json.loads(run("ask", "--json", "hello [[status 401]]").stdout)
    run("ask", "--session", first["session"], "next")
    result = run("jobs", "retry", first["turn"])
    assert result.exit_code == 1
    assert "gone on" in result.stderr


def test_only_failed_jobs_are_retried(worker: Stack, run: Run) -> None:
    said = json.loads(run("ask", "--json", "hello").stdout)
    result = run("jobs", "retry", said["turn"])
    assert result.exit_code == 1
    assert "is done" in result.stderr
