"""Models over HTTP: which there are, and which answers in a session."""

from __future__ import annotations

import pytest

from tests.integration.web.served import Served


def session_of(served: Served) -> str:
    return str(served.send("hello")["session"])


def test_the_models_at_hand_are_listed_with_what_is_known(served: Served) -> None:
    answer = served.client.get("/api/models").json()
    assert answer["models"][0] == {
        "model": "mine/fake-model",
        "known": False,
        "context_window": 32_768,
        "vision": False,
        "documents": False,
        "efforts": [],
        "agents": ["habakkuk", "careful", "reader"],
    }
    assert answer["efforts"] == ["none", "minimal", "low", "medium", "high", "xhigh", "max"]


def test_a_session_is_given_a_model_and_an_effort_and_shows_them(served: Served) -> None:
    path = f"/api/sessions/{session_of(served)}"
    answer = served.client.patch(path, json={"model": "mine/other-model", "effort": "low"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["session"]["model"] == "mine/other-model"
    assert len(answer.json()["notes"]) == 2
    shown = served.client.get(path).json()["session"]
    assert (shown["model"], shown["effort"]) == ("mine/other-model", "low")


def test_what_is_left_out_stays_and_default_takes_back(served: Served) -> None:
    path = f"/api/sessions/{session_of(served)}"
    served.client.patch(path, json={"model": "mine/other-model", "effort": "low"})
    answer = served.client.patch(path, json={"model": "default"}).json()["session"]
    assert (answer["model"], answer["effort"]) == (None, "low")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"model": "fake-mode"}, "did you mean"),
        ({"model": "venice/some-model"}, "VENICE_API_KEY is not set"),
        ({"effort": "extreme"}, "no level of effort"),
    ],
)
def test_a_choice_that_cannot_be_is_a_bad_request_with_what_helps(
    served: Served, body: dict[str, str], says: str
) -> None:
    answer = served.client.patch(f"/api/sessions/{session_of(served)}", json=body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]
