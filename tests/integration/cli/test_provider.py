"""`habakkuk provider add`: with questions at a terminal, and without any."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from habakkuk.core.config.settings import load_settings
from tests.fakes.model_script import Reply, Stall
from tests.fakes.model_server import ModelServer
from tests.integration.cli.terminal import Terminal
from web.cli import group

KEY = "sk-a-secret-key"


def _add(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(group(), ("provider", "add", *words), input=stdin)


def _mine(model: ModelServer) -> tuple[str, ...]:
    return ("mine", "--base-url", model.base_url, "--model", "fake-model")


def _open(*words: str) -> Terminal:
    return Terminal("provider", "add", *words, environment=os.environ)


def _refuse(model: ModelServer) -> None:
    body = b'{"error": {"message": "no such key here", "code": "invalid_api_key"}}'
    model.script = lambda _: Reply([body], status=401, content_type="application/json")


def _stored(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.is_file())


def test_a_key_from_stdin_is_tried_and_stored(home: Path, model: ModelServer) -> None:
    result = _add(*_mine(model), "--key-stdin", stdin=f"  {KEY}\n")
    assert result.exit_code == 0, result.stderr
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert (home / ".env").read_text() == f"MINE_API_KEY={KEY}\n"
    assert load_settings().config.agents["habakkuk"].model == "mine/fake-model"
    assert "habakkuk answers with mine/fake-model (MINE_API_KEY)." in result.stdout
    assert "./scripts/up" in result.stdout
    assert KEY not in result.output


def test_a_refused_key_is_not_stored_and_the_provider_is_quoted(
    home: Path, model: ModelServer
) -> None:
    _refuse(model)
    result = _add(*_mine(model), "--key-stdin", stdin=KEY)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no such key here" in result.stderr
    assert "--no-test" in result.stderr
    assert _stored(home) == []


def test_no_test_asks_nobody(home: Path, model: ModelServer) -> None:
    assert _add(*_mine(model), "--key-stdin", "--no-test", stdin=KEY).exit_code == 0
    assert model.requests == []
    assert _stored(home) == [".env", "config.yaml"]


def test_nothing_listens_is_said(home: Path) -> None:
    result = _add("mine", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert result.exit_code == 1
    assert "nothing answers at http://127.0.0.1:9/v1" in result.stderr
    assert _stored(home) == []


def test_a_server_with_several_models_names_them(home: Path, model: ModelServer) -> None:
    result = _add("mine", "--base-url", model.base_url)
    assert result.exit_code == 2
    assert "fake-model, other-model" in result.stderr
    assert _stored(home) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Name a service"),
        (("grok",), "'grok' is no known service"),
        (("groq",), "--key-stdin"),
        (("My Server", "--base-url", "http://127.0.0.1:9/v1"), "small letters"),
    ],
)
def test_what_is_missing_is_said(home: Path, words: tuple[str, ...], said: str) -> None:
    result = _add(*words)
    assert result.exit_code in {1, 2}
    assert said in result.stderr
    assert _stored(home) == []


def test_four_steps_at_a_terminal(home: Path, model: ModelServer) -> None:
    (home / "config.yaml").write_text("# my house\nagents:\n  habakkuk: {permissions: ask}\n")
    with _open() as terminal:
        terminal.wait_for("Step 1 of 4")
        terminal.wait_for("base URL of another server: ")
        terminal.type(f"{model.base_url}\n")
        terminal.wait_for("A name for it [mine]: ")
        terminal.type("\n")
        terminal.wait_for("[openai]: ")
        terminal.type("\n")
        terminal.wait_for("Step 2 of 4")
        terminal.wait_for("MINE_API_KEY (not shown; Enter for none): ")
        terminal.type(f" {KEY} \n")
        terminal.wait_for("Step 3 of 4")
        terminal.wait_for("It has fake-model, other-model.")
        terminal.wait_for("[fake-model]: ")
        terminal.type("other-model\n")
        terminal.wait_for("Step 4 of 4")
        terminal.wait_for("It answers.")
        assert terminal.ended() == 0
        assert KEY not in terminal.shown
    assert (home / ".env").read_text() == f"MINE_API_KEY={KEY}\n"
    assert (home / ".env").stat().st_mode & 0o777 == 0o600
    assert (home / "config.yaml").read_text().startswith("# my house\n")
    config = load_settings().config
    assert config.agents["habakkuk"].model == "mine/other-model"
    assert config.agents["habakkuk"].permissions == "ask"


def test_a_failed_test_is_saved_only_when_that_is_confirmed(home: Path, model: ModelServer) -> None:
    _refuse(model)
    with _open(*_mine(model)) as terminal:
        terminal.wait_for("(not shown")
        terminal.type(KEY + "\n")
        terminal.wait_for("no such key here")
        terminal.wait_for("Save it all the same? [y/N]: ")
        terminal.type("\n")
        terminal.wait_for("Nothing was saved.")
        assert terminal.ended() == 1
    assert _stored(home) == []
    with _open(*_mine(model)) as terminal:
        terminal.wait_for("(not shown")
        terminal.type(KEY + "\n")
        terminal.wait_for("Save it all the same?")
        terminal.type("y\n")
        assert terminal.ended() == 0
    assert _stored(home) == [".env", "config.yaml"]


def test_ctrl_c_at_the_key_leaves_everything_as_it_was(home: Path, model: ModelServer) -> None:
    (home / ".env").write_text("A=1\n")
    with _open(*_mine(model)) as terminal:
        terminal.wait_for("(not shown")
        terminal.type("\x03")
        terminal.wait_for("Nothing was saved.")
        assert terminal.ended() == 130
        assert "Traceback" not in terminal.shown
    assert (home / ".env").read_text() == "A=1\n"
    assert _stored(home) == [".env"]


def test_ctrl_c_in_the_test_leaves_everything_as_it_was(home: Path, model: ModelServer) -> None:
    model.script = lambda _: Reply([], before=(Stall(),))
    with _open(*_mine(model)) as terminal:
        terminal.wait_for("(not shown")
        terminal.type(KEY + "\n")
        model.wait_for(lambda: bool(model.requests), 20)
        terminal.type("\x03")
        terminal.wait_for("Nothing was saved.")
        assert terminal.ended() == 130
    assert _stored(home) == []


def test_the_key_in_use_is_kept_with_enter(home: Path, model: ModelServer) -> None:
    (home / ".env").write_text(f"MINE_API_KEY={KEY}\n")
    (home / "config.yaml").write_text(
        f"providers:\n  mine: {{type: openai, base_url: '{model.base_url}',"
        " api_key_env: MINE_API_KEY}\n"
    )
    with _open("mine", "--model", "fake-model") as terminal:
        terminal.wait_for("(not shown; Enter keeps the one that is set)")
        terminal.type("\n")
        terminal.wait_for("It answers.")
        assert terminal.ended() == 0
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert (home / ".env").read_text() == f"MINE_API_KEY={KEY}\n"


def test_a_key_with_spaces_is_asked_for_again(home: Path, model: ModelServer) -> None:
    with _open(*_mine(model)) as terminal:
        terminal.wait_for("(not shown")
        terminal.type("two words\n")
        terminal.wait_for("copy it again")
        terminal.wait_for("(not shown")
        terminal.type(KEY + "\n")
        assert terminal.ended() == 0
    assert (home / ".env").read_text() == f"MINE_API_KEY={KEY}\n"


def test_an_agent_that_answers_already_is_asked_about(home: Path, model: ModelServer) -> None:
    (home / ".env").write_text("GROQ_API_KEY=k\n")
    with _open("mine", "--base-url", model.base_url) as terminal:
        terminal.wait_for("(not shown")
        terminal.type("\n")
        terminal.wait_for("[fake-model]: ")
        terminal.type("\n")
        terminal.wait_for("habakkuk answers with groq/openai/gpt-oss-120b. With mine/fake-model")
        terminal.wait_for("[y/N]: ")
        terminal.type("\n")
        terminal.wait_for("habakkuk answers with groq/openai/gpt-oss-120b (GROQ_API_KEY).")
        assert terminal.ended() == 0
