"""Guiding, pausing and resuming over HTTP."""

from __future__ import annotations

from tests.fakes.stack import until
from tests.integration.web.served import Served

WORK = '[[tool look {"seconds": 2}]] [[next]] [[tool look {}]] work'


def test_a_turn_is_guided_paused_and_resumed(served: Served) -> None:
    served.stack.start()
    sent = served.send(WORK, "c")
    until(lambda: served.stack.trace("looks.log"))
    client = served.client
    for _ in range(2):
        guided = client.post("/api/chat/c/steer", json={"text": "use tabs", "id": "s1"})
        assert guided.status_code == 202
        assert "next step" in guided.json()["reply"]
    assert "finishes what it does" in client.post("/api/chat/c/pause").json()["reply"]
    path = "/api/conversations/c/open"
    until(lambda: [turn["paused"] for turn in client.get(path).json()["open"]] == [True])
    (turn,) = client.get(path).json()["open"]
    assert (turn["id"], turn["state"]) == (sent["turn"], "waiting")
    assert client.post("/api/chat/c/resume").json()["reply"] == "It goes on."
    ended = client.get(f"/api/turns/{sent['turn']}", params={"wait": 30}).json()
    assert ended["reply"]["text"] == "echo: use tabs"


def test_guidance_needs_words_and_a_conversation(served: Served) -> None:
    assert served.client.post("/api/chat/none/steer", json={"text": "x"}).status_code == 404
    assert served.client.post("/api/chat/none/steer", json={"text": ""}).status_code == 400
    assert served.client.post("/api/chat/none/pause").status_code == 404
