from __future__ import annotations

import json

from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run


def models(answer: str) -> dict[str, list[str]]:
    providers = json.loads(answer)["providers"]
    return {one["name"]: [model["model"] for model in one["models"]] for one in providers}


def test_models_are_listed_with_what_is_known_of_them(stack: Stack, run: Run) -> None:
    shown = run("models", "list").stdout
    assert "mine/fake-model" in shown
    assert "unknown: treated carefully" in shown
    assert models(run("models", "list", "-o", "json").stdout)["mine"] == [
        "mine/fake-model",
        "mine/other-model",
    ]


def test_a_provider_is_asked_for_its_models(stack: Stack, run: Run) -> None:
    found = models(run("models", "list", "--probe", "-o", "json").stdout)["mine"]
    assert found[:2] == ["mine/fake-model", "mine/other-model"]


def test_a_session_s_model_is_chosen(stack: Stack, run: Run) -> None:
    session = stack.say("hello").session_id
    result = run("sessions", "set", session, "--model", "mine/other-model", "--effort", "low")
    assert "mine/other-model" in result.stdout
    shown = json.loads(run("sessions", "show", session, "-o", "json").stdout)["session"]
    assert (shown["model"], shown["effort"]) == ("mine/other-model", "low")


def test_a_model_that_is_not_there_names_what_is_near(stack: Stack, run: Run) -> None:
    result = run("sessions", "set", stack.say("hello").session_id, "--model", "fake-mode")
    assert result.exit_code == 1
    assert "mine/fake-model" in result.stderr


def test_nothing_to_choose_is_a_wrong_use(stack: Stack, run: Run) -> None:
    assert run("sessions", "set", stack.say("hello").session_id).exit_code == 2
