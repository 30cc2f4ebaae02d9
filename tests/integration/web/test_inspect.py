"""The page of what a model saw: whose it is, and what it says where something is missing."""

from __future__ import annotations

import httpx2
import pytest
from sqlalchemy import text

from tests.integration.web.served import Served

PAGE = {"Accept": "text/html"}
LONG = text("""
    INSERT INTO messages (session_id, seq, job_id, step, role, blocks)
    SELECT s.id, 1000 + n, 'before', n, CASE WHEN n % 2 = 0 THEN 'assistant' ELSE 'user' END,
           jsonb_build_array(jsonb_build_object('type', 'text', 'text', 'Number ' || n))
    FROM sessions s, generate_series(1, 150) AS n
""")


def ask(served: Served, words: str) -> str:
    """Ask, wait for the answer and return the turn."""
    turn = str(served.send(words)["turn"])
    served.client.get(f"/api/turns/{turn}?wait=20").raise_for_status()
    return turn


def seen(served: Served, words: str, client: httpx2.Client | None = None) -> httpx2.Response:
    """Ask, and return the page of what the model saw."""
    served.stack.start()
    return (client or served.client).get(f"/inspect/{ask(served, words)}", headers=PAGE)


def test_a_count_that_the_provider_did_not_give_is_named_a_guess(served: Served) -> None:
    page = seen(served, "hello")
    served.stack.container.database.run(text("UPDATE usage SET input = 0"))
    again = served.client.get(str(page.url.path), headers=PAGE)
    assert "This is our guess: the provider gave no count." in again.text
    assert "This is our guess" not in page.text


def test_the_turn_of_another_is_not_there(served: Served) -> None:
    accounts = served.stack.container.accounts
    member = served.new_client(accounts.create_token("hers", user=accounts.add("alice")))
    page = seen(served, "a secret", member)
    assert page.status_code == 404
    assert "a secret" not in page.text


def test_the_owner_sees_a_members_turn_without_a_way_to_her_chat(served: Served) -> None:
    accounts = served.stack.container.accounts
    served.client, own = (
        served.new_client(accounts.create_token("hers", user=accounts.add("alice"))),
        served.client,
    )
    page = seen(served, "hello", own)
    assert page.status_code == 200
    assert "To the conversation" not in page.text


def test_a_turn_that_waits_has_no_answer_yet(served: Served) -> None:
    page = served.client.get(f"/inspect/{served.send('hello')['turn']}", headers=PAGE)
    assert page.status_code == 200
    assert "No model has answered in this turn yet." in page.text


@pytest.mark.parametrize("turn", ["none", "a%00b", "%F0%9F%8C%BE", "x" * 300])
def test_what_is_no_turn_is_not_found(served: Served, turn: str) -> None:
    page = served.client.get(f"/inspect/{turn}", headers=PAGE)
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")


def test_what_a_message_smuggles_in_stays_text(served: Served) -> None:
    page = seen(served, "<img src=x onerror=alert(1)>")
    assert "<img" not in page.text
    assert "&lt;img src=x" in page.text


def test_a_long_session_shows_its_newest_messages_and_the_rest_when_asked(served: Served) -> None:
    seen(served, "first")
    served.stack.container.database.run(LONG)
    page = served.client.get(f"/inspect/{ask(served, 'last')}", headers=PAGE)
    # 150 here, the two of the first turn, and the question.
    assert "53 messages before these" in page.text
    assert "Number 50" not in page.text
    assert "Number 150" in page.text
    whole = served.client.get(f"{page.url.path}?all", headers=PAGE)
    assert "Number 50" in whole.text
    assert "before these" not in whole.text
