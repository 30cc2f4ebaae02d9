"""The routes that the chat page uses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.stack import until
from tests.integration.web.served import Served


def page(served: Served, query: str = "") -> dict[str, Any]:
    answer = served.client.get(f"/api/conversations/c{query}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_page_holds_the_newest_messages_and_says_when_there_are_earlier(served: Served) -> None:
    served.stack.start()
    for n in range(3):
        served.ask(f"m{n}")
    newest = page(served, "?limit=2")
    assert [row["text"] for row in newest["messages"]] == ["m2", "echo: m2"]
    assert newest["earlier"] is True
    first = newest["messages"][0]["seq"]
    rest = page(served, f"?before={first}&limit=50")
    assert [row["text"] for row in rest["messages"]] == ["m0", "echo: m0", "m1", "echo: m1"]
    assert rest["earlier"] is False
    assert newest["conversation"]["title"] == "m0"


def test_a_turn_shows_its_steps(served: Served) -> None:
    served.stack.start()
    served.ask('[[tool look {}]] [[tool misbehave {"how": "raise"}]] go')
    (turn,) = page(served)["turns"]
    assert (turn["state"], turn["outcome"]) == ("ended", "answered")
    (step,) = turn["steps"]
    calls = {call["name"]: call for call in step["calls"]}
    assert calls["look"]["result"] == "all is well"
    assert calls["look"]["error"] is False
    assert calls["misbehave"]["error"] is True
    assert calls["misbehave"]["input"] == {"how": "raise"}
    assert calls["look"]["finished"] >= calls["look"]["started"]
    same = served.client.get(f"/api/turns/{turn['id']}/steps").json()
    assert same == turn


def test_a_call_that_waits_for_an_answer_has_not_begun(served: Served) -> None:
    served.stack.start()
    served.send("[[tool effect {}]] go", agent="careful")
    until(lambda: served.client.get("/api/overview").json()["waiting"])
    (turn,) = page(served)["open"]
    (call,) = turn["steps"][0]["calls"]
    assert (call["state"], call["started"]) == ("waiting", None)
    served.client.post("/api/chat/c/stop")


def test_a_long_result_is_cut_and_given_whole_when_asked(served: Served) -> None:
    folder = served.stack.home / "agents" / "habakkuk" / "workspace"
    folder.mkdir(parents=True)
    (folder / "long.txt").write_text("x" * 9000)
    served.stack.start()
    served.ask('[[tool read_file {"path": "long.txt"}]] go')
    (turn,) = page(served)["turns"]
    (call,) = turn["steps"][0]["calls"]
    assert len(call["result"]) == 4000
    assert call["length"] == 9000
    answer = served.client.get(f"/api/turns/{turn['id']}/call", params={"call": call["id"]})
    assert len(answer.json()["result"]) == call["length"]
    missing = served.client.get(f"/api/turns/{turn['id']}/call", params={"call": "none"})
    assert missing.status_code == 404


def test_a_long_input_is_shown_by_its_beginning(served: Served) -> None:
    served.stack.start()
    served.ask('[[tool misbehave {"how": "' + "y" * 9000 + '"}]] go')
    (turn,) = page(served)["turns"]
    (call,) = turn["steps"][0]["calls"]
    assert call["input"] is None
    assert len(call["input_text"]) == 4000


def test_what_is_open_is_told_in_order(served: Served) -> None:
    served.stack.start()
    running = served.send("slow [[stall]]")
    queued = served.send("next")
    until(lambda: served.stack.model.requests)
    found = served.client.get("/api/conversations/c/open").json()
    assert [(turn["id"], turn["state"]) for turn in found["open"]] == [
        (running["turn"], "running"),
        (queued["turn"], "queued"),
    ]
    assert [row["text"] for row in found["queued"]] == ["next"]
    assert found["withdrawn"] == []
    assert page(served)["open"] == found["open"]
    for _ in range(2):
        served.client.post("/api/chat/c/stop")


def test_a_queued_message_is_edited_and_withdrawn(served: Served) -> None:
    served.send("one")
    second = served.send("two")
    path = f"/api/conversations/c/messages/{second['seq']}"
    assert served.client.patch(path, json={"text": "better"}).json() == {"done": "edited"}
    assert [row["text"] for row in page(served)["messages"]] == ["one", "better"]
    assert served.client.delete(path).json() == {"done": "withdrawn"}
    found = served.client.get("/api/conversations/c/open").json()
    assert [row["text"] for row in found["queued"]] == ["one"]
    assert found["withdrawn"] == [second["seq"]]
    assert served.client.delete(path).status_code == 409
    assert served.client.patch(path, json={"text": "late"}).status_code == 409


def test_a_retry_is_a_new_turn(served: Served) -> None:
    served.stack.start()
    served.ask("one")
    answer = served.client.post("/api/conversations/c/retry")
    assert answer.status_code == 202
    turn = served.client.get(f"/api/turns/{answer.json()['turn']}?wait=20").json()
    assert turn["reply"]["text"] == "echo: one"


def test_the_list_is_named_searched_archived_and_cleared(served: Served) -> None:
    served.stack.start()
    served.ask("Sow the barley", "one")
    served.ask("Mend the roof", "two")
    client = served.client
    listed = client.get("/api/conversations").json()
    assert [row["conversation"] for row in listed["conversations"]] == ["two", "one"]
    assert listed["total"] == 2
    found = client.get("/api/conversations", params={"q": "barley"}).json()["conversations"]
    assert [(row["conversation"], row["hit"]["excerpt"]) for row in found] == [
        ("one", "echo: Sow the barley")
    ]
    changed = client.patch("/api/conversations/one", json={"title": "Spring", "archived": True})
    assert (changed.json()["title"], changed.json()["archived"]) == ("Spring", True)
    assert client.get("/api/conversations").json()["total"] == 1
    assert client.get("/api/conversations?archived=true").json()["total"] == 1
    assert client.delete("/api/conversations/one").json() == {"done": "removed"}
    assert client.get("/api/conversations/one").status_code == 404


def test_the_export_is_a_file(served: Served) -> None:
    served.stack.start()
    served.ask('Plan \u00e4 "quoted"')
    answer = served.client.get("/api/conversations/c/export")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    disposition = answer.headers["content-disposition"]
    assert disposition == "attachment; filename*=UTF-8''Plan%20%C3%A4%20%22quoted%22.md"
    assert 'echo: Plan ä "quoted"' in answer.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/conversations/none", None),
        ("GET", "/api/conversations/none/open", None),
        ("GET", "/api/conversations/none/export", None),
        ("PATCH", "/api/conversations/none", {"title": "x"}),
        ("DELETE", "/api/conversations/none", None),
        ("POST", "/api/conversations/none/retry", None),
        ("PATCH", "/api/conversations/none/messages/1", {"text": "x"}),
        ("DELETE", "/api/conversations/none/messages/1", None),
        ("GET", "/api/turns/turn_none/steps", None),
    ],
)
def test_what_is_not_there_is_a_404(
    served: Served, method: str, path: str, body: dict[str, str] | None
) -> None:
    answer = served.client.request(method, path, json=body)
    assert answer.status_code == 404
    assert answer.json()["error"]["type"] == "not_found"


@pytest.mark.parametrize(
    "path",
    [
        "/api/conversations?limit=0",
        "/api/conversations?before=yesterday",
        "/api/conversations?q=" + "x" * 201,
        "/api/conversations/c/messages/zero",
        "/api/jobs?state=odd",
    ],
)
def test_a_wrong_query_is_one_sentence(served: Served, path: str) -> None:
    method = "DELETE" if "messages" in path else "GET"
    answer = served.client.request(method, path)
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]["message"]
