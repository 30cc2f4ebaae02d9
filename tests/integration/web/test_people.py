"""What belongs to somebody else is not there at all, however it is asked for."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from tests.fakes.pictures import document
from tests.integration.web.served import Served

_USER = text("INSERT INTO users (id, name, role) VALUES (:id, :id, :role)")
_TOKEN = text("""
    INSERT INTO api_tokens (id, user_id, name, hash, scopes)
    VALUES (:id, :id, :id, :hash, ARRAY['chat', 'read'])
""")


def person(served: Served, name: str, role: str = "member") -> httpx2.Client:
    """Return the client of another person."""
    secret = f"hab_token_of_{name}_{'x' * 20}"
    database = served.stack.container.database
    database.run(_USER, id=name, role=role)
    database.run(_TOKEN, id=name, hash=hashlib.sha256(secret.encode()).digest())
    return served.new_client(secret)


def completion(**more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "hello"}], **more}


def test_another_persons_conversations_are_not_there(served: Served) -> None:
    sent = served.send("a secret")
    other = person(served, "eve")
    assert other.get("/api/chat").json()["conversations"] == []
    assert other.get("/api/sessions").json()["sessions"] == []
    for path in ("/api/chat/c", f"/api/sessions/{sent['session']}", f"/api/turns/{sent['turn']}"):
        answer = other.get(path)
        assert answer.status_code == 404
        assert "a secret" not in answer.text
    assert other.post("/api/chat/c/stop").status_code == 404


def test_another_persons_session_is_not_continued(served: Served) -> None:
    sent = served.send("a secret")
    other = person(served, "eve")
    headers = {"X-Habakkuk-Session": sent["session"]}
    answer = other.post("/v1/chat/completions", json=completion(), headers=headers)
    assert answer.status_code == 404
    unknown = {"X-Habakkuk-Session": "ses_000000000000000000000000"}
    absent = other.post("/v1/chat/completions", json=completion(), headers=unknown)
    kind = answer.json()["error"]["message"].replace(sent["session"], "S")
    assert kind == absent.json()["error"]["message"].replace(unknown["X-Habakkuk-Session"], "S")
    assert len(served.client.get("/api/chat/c").json()["messages"]) == 1


def test_another_persons_file_is_not_there(served: Served) -> None:
    pdf = base64.b64encode(document(1)).decode()
    sent = served.send("mine", files=[{"data": pdf}])
    path = f"/api/conversations/c/messages/{sent['seq']}/files/0"
    assert served.client.get(path).status_code == 200
    other = person(served, "eve")
    other.post("/api/chat", json={"conversation": "c", "text": "hers"})
    assert other.get(path).status_code == 404


def test_another_persons_session_is_given_no_model(served: Served) -> None:
    session = served.send("mine")["session"]
    other = person(served, "eve")
    answer = other.patch(f"/api/sessions/{session}", json={"effort": "low"})
    assert answer.status_code == 404


def test_the_same_name_is_another_conversation_for_another_person(served: Served) -> None:
    served.send("mine", id="x1")
    other = person(served, "eve")
    body = {"conversation": "c", "text": "hers", "id": "x1"}
    assert other.post("/api/chat", json=body).json()["duplicate"] is False
    assert [m["text"] for m in other.get("/api/chat/c").json()["messages"]] == ["hers"]
    assert [m["text"] for m in served.client.get("/api/chat/c").json()["messages"]] == ["mine"]


def test_the_same_idempotency_key_is_another_turn_for_another_person(served: Served) -> None:
    served.stack.start()
    headers = {"Idempotency-Key": "k"}
    mine = served.client.post("/v1/chat/completions", json=completion(), headers=headers)
    other = person(served, "eve")
    hers = other.post("/v1/chat/completions", json=completion(), headers=headers)
    assert hers.status_code == 200
    assert hers.json()["id"] != mine.json()["id"]


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
def test_a_viewer_does_not_write(served: Served, path: str) -> None:
    viewer = person(served, "vera", "viewer")
    body = {"conversation": "c", "text": "hello"} if path == "/api/chat" else completion()
    assert viewer.post(path, json=body).status_code == 403
    assert viewer.get("/api/chat").status_code == 200
