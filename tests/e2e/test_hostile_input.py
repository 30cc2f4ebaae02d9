"""Input that nobody means well: one sentence back, and nothing half stored."""

from __future__ import annotations

import json

import httpx2
import pytest

from scripts.drills.world import World

JSON = {"content-type": "application/json"}
CHAT, COMPLETIONS = "/api/chat", "/v1/chat/completions"
_TABLES = ("chat_messages", "turns", "jobs", "conversations", "sessions", "messages")
HOSTILE = {
    "no JSON": b"{",
    "no object": b"[1, 2]",
    "invalid UTF-8": b'{"conversation": "c", "text": "\xff\xfe"}',
    "not a number": b'{"conversation": "c", "text": "a", "id": NaN}',
    "nothing said": json.dumps({"conversation": "c", "text": "  "}).encode(),
    "wrong type": json.dumps({"conversation": "c", "text": 7}).encode(),
    "unknown key": json.dumps({"conversation": "c", "text": "a", "sudo": True}).encode(),
    "too deep": b'{"conversation": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "ten megabytes": json.dumps({"conversation": "c", "text": "a" * 10_000_000}).encode(),
}


def _counts(world: World) -> dict[str, int]:
    return {
        table: world.records.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in _TABLES
    }


def _is_one_sentence(answer: httpx2.Response) -> bool:
    message = answer.json()["error"]["message"]
    return bool(message) and "\n" not in message and "Traceback" not in message


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
def test_it_is_refused_in_one_sentence(
    world: World, http: httpx2.Client, path: str, name: str
) -> None:
    before = _counts(world)
    answer = http.post(path, content=HOSTILE[name], headers=JSON)
    assert 400 <= answer.status_code < 500
    assert _is_one_sentence(answer)
    assert _counts(world) == before


def test_text_that_cannot_be_stored_is_cleaned_and_answered(
    world: World, http: httpx2.Client
) -> None:
    body = b'{"conversation": "odd", "text": "a\\u0000b \\ud800 c"}'
    sent = http.post(CHAT, content=body, headers=JSON)
    if sent.status_code == 202:
        reply = world.api.get(f"/api/turns/{sent.json()['turn']}?wait=20").body["reply"]
        assert reply["text"] == "echo: a\ufffdb \ufffd c"
    else:
        assert sent.status_code == 400
        assert _is_one_sentence(sent)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_refused(http: httpx2.Client, kind: str) -> None:
    body = json.dumps({"conversation": "c", "text": "a"}).encode()
    answer = http.post(CHAT, content=body, headers={"content-type": kind})
    assert answer.status_code == 415
    assert _is_one_sentence(answer)


@pytest.mark.parametrize(
    "headers",
    [{"authorization": "Bearer wrong"}, {"authorization": ""}, {"host": "evil.example"}],
)
def test_a_stranger_is_turned_away(http: httpx2.Client, headers: dict[str, str]) -> None:
    answer = http.post(CHAT, json={"conversation": "c", "text": "a"}, headers=headers)
    assert answer.status_code in (401, 403, 421)
    assert _is_one_sentence(answer)
