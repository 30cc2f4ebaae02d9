"""Questions of agents over HTTP: who sees and answers them, and that an answer counts once."""

from __future__ import annotations

from typing import Any

import httpx2

from habakkuk.accounts.types import Scope
from tests.fakes.stack import until
from tests.integration.web.served import Served

ASK = '[[tool clarify {"questions": [{"question": "Which?", "choices": ["a", "b"]}]}]] go'


def _open(served: Served) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = served.client.get("/api/questions").json()["questions"]
    return found


def _reader(served: Served) -> httpx2.Client:
    token = served.stack.container.accounts.create_token("reader", (Scope.READ,))
    return served.new_client(token)


def test_an_open_question_is_shown_and_answered_once(served: Served) -> None:
    served.stack.start()
    sent = served.send(ASK, "c")
    until(lambda: _open(served))
    (question,) = _open(served)
    assert question["questions"] == [{"question": "Which?", "choices": ["a", "b"]}]
    assert (question["turn"], question["outcome"]) == (sent["turn"], None)
    path = f"/api/questions/{question['id']}"
    assert _reader(served).post(path, json={"text": "a"}).status_code == 403
    assert served.client.post(path, json={"text": ""}).status_code == 400
    answered = served.client.post(path, json={"text": "b"})
    assert (answered.status_code, answered.json()["outcome"]) == (200, "answered")
    assert served.client.post(path, json={"text": "a"}).status_code == 409
    assert _open(served) == []
    assert served.client.post("/api/questions/wait_none", json={"text": "a"}).status_code == 404


def test_a_message_that_answers_names_the_turn_that_goes_on(served: Served) -> None:
    served.stack.start()
    sent = served.send(ASK, "c")
    until(lambda: _open(served))
    served.stack.read_questions()
    answer = served.send("neither", "c")
    assert answer["turn"] == sent["turn"]
