"""Files over HTTP: kept before they are named, shown to the model or told, given back."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from sqlalchemy import text

from tests.fakes.pictures import document, plain, written
from tests.integration.web.served import Served

PNG = written(plain(3, 3), "PNG")
URI = "data:image/png;base64," + base64.b64encode(PNG).decode()
NOTE = "this model cannot see images"


def attach(served: Served, words: str = "look", **more: Any) -> dict[str, Any]:
    return served.send(words, files=[{"name": "a.png", "data": URI}], **more)


def blocks(served: Served, session: str) -> list[str]:
    shown = served.client.get(f"/api/sessions/{session}").json()["messages"]
    return [block["type"] for block in shown[0]["blocks"]]


def test_a_file_of_a_message_reaches_the_transcript_and_the_model(served: Served) -> None:
    served.stack.start()
    sent = attach(served)
    served.client.get(f"/api/turns/{sent['turn']}", params={"wait": 60})
    assert blocks(served, sent["session"]) == ["text", "media", "text", "text"]
    assert f"(image a.png, 1 kB: {NOTE})" in served.stack.model.requests[0].text


def test_a_model_that_sees_is_sent_the_image_itself(served: Served) -> None:
    served.stack.start()
    served.send("/model mine/gemma3:4b")
    sent = attach(served)
    reply = served.client.get(f"/api/turns/{sent['turn']}", params={"wait": 60}).json()["reply"]
    (asked,) = served.stack.model.requests
    parts = asked.body["messages"][-1]["content"]
    assert {"type": "image_url", "image_url": {"url": URI}} in parts
    assert "notice" not in reply["data"]


def test_a_person_is_told_once_that_the_model_could_not_see(served: Served) -> None:
    served.stack.start()
    sent = attach(served)
    reply = served.client.get(f"/api/turns/{sent['turn']}", params={"wait": 60}).json()["reply"]
    assert NOTE in reply["data"]["notice"]
    again = served.send("and now?")
    reply = served.client.get(f"/api/turns/{again['turn']}", params={"wait": 60}).json()["reply"]
    assert NOTE not in str(reply["data"])


def test_a_file_is_given_back_as_it_came(served: Served) -> None:
    sent = attach(served)
    path = f"/api/conversations/c/messages/{sent['seq']}/files/0"
    answer = served.client.get(path)
    assert answer.content == PNG
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Content-Disposition"].startswith("inline")
    assert served.client.get(path[:-1] + "1").status_code == 404


def test_what_a_browser_would_run_is_to_be_saved(served: Served) -> None:
    pdf = base64.b64encode(document(1)).decode()
    sent = served.send("read", files=[{"name": "a.pdf", "data": pdf}])
    answer = served.client.get(f"/api/conversations/c/messages/{sent['seq']}/files/0")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_the_same_message_again_is_one_with_its_file(served: Served) -> None:
    first = attach(served, id="m1")
    assert attach(served, id="m1")["duplicate"]
    rows = served.client.get("/api/chat/c").json()["messages"]
    assert [row["seq"] for row in rows] == [first["seq"]]
    assert rows[0]["data"]["files"][0]["name"] == "a.png"


def test_a_message_asked_again_takes_its_file_along(served: Served) -> None:
    served.stack.start()
    sent = attach(served)
    served.client.get(f"/api/turns/{sent['turn']}", params={"wait": 60})
    again = served.client.post("/api/conversations/c/retry").json()
    served.client.get(f"/api/turns/{again['turn']}", params={"wait": 60})
    rows = {row["seq"]: row for row in served.client.get("/api/chat/c").json()["messages"]}
    assert rows[again["seq"]]["data"] == rows[sent["seq"]]["data"]


def test_a_file_alone_is_a_message_and_a_slash_beside_it_no_command(served: Served) -> None:
    assert attach(served, "")["turn"] is not None
    assert attach(served, "/stop")["turn"] is not None


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
def test_a_file_that_cannot_be_read_stores_nothing(served: Served, path: str) -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,!"}}
    body: dict[str, Any] = (
        {"conversation": "c", "text": "x", "files": [{"data": "data:image/png;base64,!"}]}
        if path == "/api/chat"
        else {"messages": [{"role": "user", "content": [part]}]}
    )
    answer = served.client.post(path, json=body)
    assert answer.status_code == 400
    assert "no base64" in answer.text
    assert not served.stack.container.database.run(text("SELECT 1 FROM chat_messages"))


def kept(served: Served) -> int:
    (row,) = served.stack.container.database.run(text("SELECT count(*) AS n FROM blobs"))
    return int(row.n)


@pytest.mark.parametrize("change", [{"agent": "nobody"}, {"text": "x" * 1_900_000}])
def test_a_message_that_is_refused_keeps_no_file(served: Served, change: dict[str, str]) -> None:
    body = {"conversation": "c", "text": "look", "files": [{"data": URI}]} | change
    assert served.client.post("/api/chat", json=body).status_code == 400
    assert kept(served) == 0


def test_too_many_files_of_openai_s_clients_are_refused_and_not_kept(served: Served) -> None:
    parts = [{"type": "image_url", "image_url": {"url": URI}}] * 21
    body = {"messages": [{"role": "user", "content": parts}]}
    assert served.client.post("/v1/chat/completions", json=body).status_code == 400
    assert kept(served) == 0


def test_files_of_earlier_messages_are_kept_for_a_new_session_only(served: Served) -> None:
    served.stack.start()
    other = base64.b64encode(written(plain(4, 4), "PNG")).decode()
    look = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{other}"}}
    sent = attach(served)
    messages = [
        {"role": "user", "content": [look]},
        {"role": "assistant", "content": "I see"},
        {"role": "user", "content": "and now?"},
    ]
    headers = {"X-Habakkuk-Session": sent["session"]}
    answer = served.client.post(
        "/v1/chat/completions", json={"messages": messages}, headers=headers
    )
    assert answer.status_code == 200, answer.text
    assert kept(served) == 1
    served.client.post("/v1/chat/completions", json={"messages": messages})
    assert kept(served) == 2


def test_openai_s_clients_send_files_inside_their_messages(served: Served) -> None:
    served.stack.start()
    look = [{"type": "image_url", "image_url": {"url": URI}}, {"type": "text", "text": "look"}]
    messages = [
        {"role": "user", "content": look},
        {"role": "assistant", "content": "I see"},
        {"role": "user", "content": look},
    ]
    answer = served.client.post("/v1/chat/completions", json={"messages": messages})
    assert answer.status_code == 200, answer.text
    session = answer.headers["X-Habakkuk-Session"]
    shown = served.client.get(f"/api/sessions/{session}").json()["messages"]
    kinds = [[block["type"] for block in message["blocks"]] for message in shown]
    assert kinds[0] == ["media", "text"]
    assert kinds[2] == ["text", "media", "text"]
    blob = shown[0]["blocks"][0]["blob"]
    assert served.stack.container.blobs.get(blob) == PNG


def test_the_address_of_an_image_is_refused_with_what_to_do(served: Served) -> None:
    part = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    body = {"messages": [{"role": "user", "content": [part]}]}
    answer = served.client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "messages.0.content.0"
    assert "inside the request" in answer.json()["error"]["message"]


def test_only_what_takes_files_takes_much(served: Served) -> None:
    long = "x" * 2_100_000
    assert served.client.patch("/api/sessions/s", json={"model": long}).status_code == 413
    answer = served.client.post("/api/chat", json={"conversation": "c", "text": long})
    assert answer.status_code == 400
