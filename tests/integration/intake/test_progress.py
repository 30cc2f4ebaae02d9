"""What people see of a turn that takes long: one message that the answer takes away (K41, K85)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from habakkuk.channels.contract import Feature, NotSent
from habakkuk.channels.messages import OutboundMessage, Receipt
from habakkuk.channels.webhook.adapter import WebhookAdapter
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.delivery import progress, store
from tests.fakes.stack import Points, until
from tests.integration.intake.conftest import Room, Rooms
from tests.integration.intake.wall import ANSWER, ENDLESS, LONG, Wall

Can = Callable[[Feature], None]


def _refused(wait: float) -> NotSent:
    return NotSent("slow down", retryable=True, retry_after=wait)


def _removals(room: Room) -> list[Any]:
    """Return the jobs that take a message of progress away later."""
    ids = {row.id for row in room.rows("deliveries") if row.body["kind"] == "draft"}
    return [row for row in room.rows("jobs") if row.id in ids]


def test_a_long_turn_shows_what_it_does_until_its_answer_comes(
    rooms: Rooms, wall: Wall, can: Can
) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    room.stack.start()
    room.say(LONG)
    until(lambda: wall.standing)
    assert room.told(1) == [ANSWER]
    until(lambda: not wall.standing)
    assert wall.did("draft") == wall.did("undraft") == 1
    assert wall.happened[-1] == ("undraft", "")
    assert all(text.startswith("Working…") for _, text in wall.happened[:-1])
    assert "\n• look" in wall.happened[-2][1]
    assert [turn.draft for turn in room.rows("turns")] == [None]


def test_a_short_turn_shows_nothing(
    rooms: Rooms, wall: Wall, can: Can, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_DRAFT_SECONDS", 60.0)
    room = rooms()
    can(Feature.DRAFTS)
    room.stack.start()
    room.say("hello")
    room.told(1)
    assert wall.happened == []


def test_it_is_off_where_the_account_says_so(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms(options="progress: off")
    can(Feature.DRAFTS)
    room.stack.start()
    room.say(LONG)
    room.told(1)
    assert wall.happened == []


def test_a_stopped_turn_takes_it_away_too(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    room.stack.start()
    room.say(ENDLESS)
    until(lambda: wall.standing)
    room.say("/stop")
    until(lambda: wall.did("undraft"))
    assert wall.standing == {}


def test_a_turn_that_runs_again_edits_the_same(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    points = Points({"turn.append.after": 2})
    room.stack.start(points)
    room.say(LONG)
    until(lambda: points.passed.count("turn.append.after") >= 2)
    until(lambda: [turn.draft for turn in room.rows("turns")] != [None])
    room.stack.stop()
    room.stack.free_all()
    room.stack.start()
    room.told(1)
    until(lambda: not wall.standing)
    assert wall.did("draft") == 1


def test_a_death_between_posting_and_noting_leaves_one_and_the_answer_comes(
    rooms: Rooms, wall: Wall, can: Can, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No platform can be asked for it: the one window in which one stays."""
    room = rooms()
    can(Feature.DRAFTS)
    signs: Any = room.stack.container.signs
    monkeypatch.setattr(signs._progress, "_failpoints", Points({"draft.post.after": 1}))
    room.stack.start()
    room.say(LONG)
    assert room.told(1) == [ANSWER]
    until(lambda: wall.did("draft") == wall.did("undraft") + 1)
    assert len(wall.standing) == 1


def test_a_wait_that_the_platform_asks_for_is_kept(rooms: Rooms, wall: Wall, can: Can) -> None:
    """And the answer gets through all the same (K41)."""
    room = rooms()
    can(Feature.DRAFTS)
    wall.refusals = [NotSent("slow down", retryable=True, retry_after=600)]
    room.stack.start()
    room.say(LONG)
    assert room.told(1) == [ANSWER]
    assert wall.did("redraft") <= 1


def test_a_wait_that_the_platform_asks_for_outlasts_the_turn(
    rooms: Rooms, wall: Wall, can: Can
) -> None:
    """The next turn of the chat keeps to it as well, though nothing ran in between (K41)."""
    room = rooms()
    can(Feature.DRAFTS)
    wall.refusals = [NotSent("slow down", retryable=True, retry_after=600)]
    room.stack.start()
    for _ in range(2):
        room.heard(room.say(LONG))
    assert (wall.did("draft"), wall.did("redraft")) == (1, 1)


def test_no_answer_waits_for_a_draft_that_does_not_go(
    rooms: Rooms, wall: Wall, can: Can, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NotSent("not now", retryable=True)

    room = rooms()
    can(Feature.DRAFTS)
    monkeypatch.setattr(WebhookAdapter, "undraft", refuse)
    room.stack.start()
    room.say(LONG)
    assert room.told(1) == [ANSWER]


def test_one_that_may_not_go_now_goes_later(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    wall.removals = [_refused(1), _refused(0.1)]
    room.stack.start()
    room.say(LONG)
    assert room.told(1) == [ANSWER]
    until(lambda: wall.did("undraft") == 3)
    assert wall.standing == {}
    until(lambda: {row.state for row in room.rows("deliveries")} == {"sent"})


def test_the_wait_that_the_platform_asks_for_is_kept_before_it_goes(
    rooms: Rooms, wall: Wall, can: Can
) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    wall.removals = [_refused(600)]
    room.stack.start()
    room.heard(room.say(LONG))
    until(lambda: _removals(room))
    (job,) = _removals(room)
    assert 590 < (job.run_at - job.created).total_seconds() < 610
    # The chat's next answer neither waits for it nor asks for it again.
    room.say("hello")
    until(lambda: room.texts() == [ANSWER, "echo: hello"])
    assert wall.did("undraft") == 1


def test_it_goes_though_the_worker_dies_that_could_not_take_it_away(
    rooms: Rooms, wall: Wall, can: Can
) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    wall.removals = [_refused(600)]
    room.stack.start()
    room.say(LONG)
    until(lambda: _removals(room))
    room.stack.stop()
    room.run("UPDATE jobs SET run_at = now() WHERE state = 'pending'")
    room.stack.free_all()
    room.stack.start()
    until(lambda: not wall.standing)
    assert room.told(1) == [ANSWER]


def test_a_death_after_it_went_leaves_nothing_to_do(rooms: Rooms, wall: Wall, can: Can) -> None:
    """What is gone already is no error."""
    room = rooms()
    can(Feature.DRAFTS)
    points = Points({"draft.remove.after": 1})
    room.stack.start(points)
    room.say(LONG)
    until(lambda: "draft.remove.after" in points.passed)
    room.stack.stop()
    room.stack.free_all()
    room.stack.start()
    assert room.told(1) == [ANSWER]
    assert [turn.draft for turn in room.rows("turns")] == [None]
    assert wall.did("undraft") == 2


def test_one_that_stays_for_good_fails_where_it_is_seen(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    wall.removals = [_refused(0.1), NotSent("the chat is gone")]
    room.stack.start()
    room.say(LONG)
    until(lambda: {"failed"} <= {row.state for row in room.rows("deliveries")})
    assert wall.did("undraft") == 2


def test_an_answer_that_comes_while_it_is_posted_leaves_none(
    rooms: Rooms, wall: Wall, can: Can, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The platform takes long over the draft; the answer does not know of it."""
    room = rooms()
    can(Feature.DRAFTS)
    wall.removals = [_refused(0.1)]
    answered = threading.Event()
    send = WebhookAdapter.send

    def slowly(*asked: Any) -> str:
        assert answered.wait(30)
        return wall.draft(*asked)

    def sent(adapter: WebhookAdapter, message: OutboundMessage) -> Receipt:
        receipt = send(adapter, message)
        answered.set()
        return receipt

    monkeypatch.setattr(WebhookAdapter, "draft", lambda _, *asked: slowly(*asked))
    monkeypatch.setattr(WebhookAdapter, "send", sent)
    room.stack.start()
    room.say(LONG)
    until(lambda: wall.did("undraft") == 2)
    assert wall.standing == {}


def _away(monkeypatch: pytest.MonkeyPatch, times: Callable[[], bool]) -> None:
    """Let PostgreSQL be away whenever the id of a draft is to be kept, while `times` says so."""
    keep = store.keep_draft

    def kept(database: Database, turn_id: str, draft: str) -> bool:
        if times():
            raise DatabaseAway("gone")
        return keep(database, turn_id, draft)

    monkeypatch.setattr(store, "keep_draft", kept)


def test_one_that_cannot_be_noted_now_is_noted_later_and_not_posted_again(
    rooms: Rooms, wall: Wall, can: Can, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    tries = iter(range(10**6))
    _away(monkeypatch, lambda: next(tries) < 3)
    room.stack.start()
    room.say(LONG)
    assert room.told(1) == [ANSWER]
    until(lambda: not wall.standing)
    assert wall.did("draft") == 1


def test_one_that_was_not_noted_before_the_turn_ended_is_taken_away(
    rooms: Rooms, wall: Wall, can: Can, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer does not know of it, and nobody looks at the turn any more."""
    room = rooms()
    can(Feature.DRAFTS)
    _away(monkeypatch, lambda: True)
    room.stack.start()
    room.say(LONG)
    assert room.told(1) == [ANSWER]
    until(lambda: wall.did("undraft"))
    assert wall.did("draft") == 1
    assert wall.standing == {}


def test_one_of_another_process_is_not_forgotten_for_ours(
    rooms: Rooms, wall: Wall, can: Can, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose lease was lost may be late with its own."""
    room = rooms()
    can(Feature.DRAFTS)
    noted = threading.Event()

    def another() -> bool:
        if not noted.is_set():
            room.run("UPDATE turns SET draft = 'theirs'")
            wall.standing["theirs"] = "Working…"
            noted.set()
        return False

    _away(monkeypatch, another)
    room.stack.start()
    room.say(LONG)
    assert room.told(1) == [ANSWER]
    until(lambda: wall.did("undraft") == 2)
    assert wall.standing == {}
