"""The chat API over a real socket, answered by a Runner in this process."""

from __future__ import annotations

import pytest

from habakkuk.accounts.types import Scope
from tests.fakes.stack import until
from tests.integration.web.served import Served, events


def test_a_message_is_accepted_before_it_is_answered(served: Served) -> None:
    sent = served.send("hello")
    assert sent["conversation"] == "c"
    assert sent["seq"] == 1
    assert sent["duplicate"] is False
    assert sent["reply"] is None
    turn = served.client.get(f"/api/turns/{sent['turn']}").json()
    assert (turn["state"], turn["outcome"], turn["reply"]) == ("queued", None, None)


def test_waiting_for_a_turn_returns_its_answer(served: Served) -> None:
    served.stack.start()
    sent = served.send("hello")
    turn = served.client.get(f"/api/turns/{sent['turn']}?wait=20").json()
    assert (turn["state"], turn["outcome"]) == ("ended", "answered")
    assert turn["reply"]["text"] == "echo: hello"


def test_the_history_is_read_back_in_pages(served: Served) -> None:
    served.stack.start()
    for n in range(3):
        served.ask(f"m{n}")
    newest = served.client.get("/api/chat/c?limit=2").json()["messages"]
    assert [m["text"] for m in newest] == ["m2", "echo: m2"]
    before = served.client.get(f"/api/chat/c?limit=2&before={newest[0]['seq']}").json()["messages"]
    assert [m["text"] for m in before] == ["m1", "echo: m1"]


def test_the_same_id_again_changes_nothing(served: Served) -> None:
    first = served.send("hello", id="x1")
    again = served.send("hello", id="x1")
    assert again == first | {"duplicate": True}
    assert len(served.client.get("/api/chat/c").json()["messages"]) == 1


def test_the_same_id_in_another_conversation_is_another_message(served: Served) -> None:
    first = served.send("hello", id="x1")
    other = served.send("hello", "d", id="x1")
    assert other["duplicate"] is False
    assert other["turn"] != first["turn"]


def test_a_command_is_answered_at_once_and_once(served: Served) -> None:
    served.send("hello")
    first = served.send("/new", id="n1")
    assert first["turn"] is None
    assert "new session" in first["reply"]
    again = served.send("/new", id="n1")
    assert again["duplicate"] is True
    assert again["reply"] == first["reply"]


@pytest.mark.parametrize("more", [(), (Scope.APPROVE,)])
def test_a_yes_answers_a_question_only_with_the_scope_for_it(
    served: Served, more: tuple[Scope, ...]
) -> None:
    served.stack.start()
    asked = served.send("[[tool effect {}]] work", agent="careful")
    until(lambda: served.client.get(f"/api/turns/{asked['turn']}").json()["state"] == "waiting")
    served.stack.read_questions()
    scopes = (Scope.CHAT, Scope.READ, *more)
    client = served.new_client(served.stack.container.accounts.create_token("t", scopes))
    said = client.post("/api/chat", json={"conversation": "c", "text": "yes"}).json()
    assert (said["turn"] is None) is bool(more)
    if more:
        served.client.get(f"/api/turns/{asked['turn']}?wait=20")
    assert len(served.stack.trace("effects.log", "careful")) == len(more)


def test_stop_ends_what_waits(served: Served) -> None:
    sent = served.send("hello")
    stopped = served.client.post("/api/chat/c/stop")
    assert stopped.status_code == 202
    turn = served.client.get(f"/api/turns/{sent['turn']}").json()
    assert (turn["state"], turn["outcome"]) == ("ended", "cancelled")


def test_conversations_are_listed_by_their_own_names(served: Served) -> None:
    served.send("one", "first talk")
    served.send("two", "日本語")
    listed = served.client.get("/api/chat").json()["conversations"]
    assert [row["conversation"] for row in listed] == ["日本語", "first talk"]
    assert served.client.get("/api/chat/日本語").json()["messages"][0]["text"] == "two"


def test_a_stream_shows_text_as_it_comes_and_then_the_stored_answer(served: Served) -> None:
    served.stack.start()
    served.ask("before")
    with served.client.stream("GET", "/api/chat/c/events?after=2") as stream:
        seen = events(stream)
        assert next(seen).comment == "keepalive"
        served.send("hello [[tokens 10]] [[delay 0.02]]")
        came = []
        for event in seen:
            came.append(event)
            if event.event == "turn.ended":
                break
    deltas = [e.json["text"] for e in came if e.event == "text.delta"]
    rows = [e for e in came if e.event == "message" and e.id]
    assert [r.json["author"] for r in rows] == ["user", "agent"]
    assert len(deltas) > 1
    assert rows[1].json["text"].startswith("".join(deltas).strip())
    assert [e.id for e in came if e.event != "message"] == [None] * (len(came) - 2)
