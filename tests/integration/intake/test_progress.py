"""What people see of a turn that takes long: one message that the answer takes away (K41, K85)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from habakkuk.channels.contract import Feature, NotSent
from habakkuk.channels.messages import OutboundMessage, Reaction, Receipt
from habakkuk.channels.webhook.adapter import WebhookAdapter
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.delivery import progress, store
from tests.fakes.stack import Points, until
from tests.integration.intake.conftest import Room, Rooms

_LONG = '[[tool look {"seconds": 1.2}]] ' * 3 + "[[next]] [[tool look {}]] work"
_ANSWER = "results: " + " | ".join(["all is well"] * 4)
_ENDLESS = '[[tool look {"seconds": 20}]] work'


class Wall:
    """The messages of progress that stand on the platform, and all that happened to them."""

    def __init__(self) -> None:
        self.standing: dict[str, str] = {}
        self.happened: list[tuple[str, str]] = []
        self.refusals: list[NotSent] = []
        self.removals: list[NotSent] = []
        self.reactions: list[Reaction | None] = []
        self._lock = threading.Lock()

    def draft(self, chat: str, thread: str, reply_to: str | None, text: str) -> str:
        assert (chat, thread) == ("room", "")
        with self._lock:
            made = f"d{len(self.happened)}"
            self.standing[made] = text
            self.happened.append(("draft", text))
        return made

    def redraft(self, chat: str, draft: str, text: str) -> None:
        with self._lock:
            self.happened.append(("redraft", text))
            if self.refusals:
                raise self.refusals.pop(0)
            if draft in self.standing:
                self.standing[draft] = text

    def undraft(self, chat: str, draft: str) -> None:
        with self._lock:
            self.happened.append(("undraft", ""))
            if self.removals:
                raise self.removals.pop(0)
            self.standing.pop(draft, None)

    def react(self, chat: str, message: str, now: Reaction | None, before: Any) -> None:
        self.reactions.append(now)

    def did(self, what: str) -> int:
        return sum(name == what for name, _ in list(self.happened))


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    monkeypatch.setattr(progress, "_DRAFT_SECONDS", 0.2)
    monkeypatch.setattr(progress, "_EDIT_SECONDS", 0.1)
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.02)
    made = Wall()
    for name in ("draft", "redraft", "undraft", "react"):
        monkeypatch.setattr(WebhookAdapter, name, getattr(made, name))
    return made


@pytest.fixture
def can(monkeypatch: pytest.MonkeyPatch) -> Callable[[Feature], None]:
    def make(feature: Feature) -> None:
        facts = WebhookAdapter.manifest
        made = replace(facts, features=facts.features | {feature})
        monkeypatch.setattr(WebhookAdapter, "manifest", made)

    return make


@pytest.fixture
def chatting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the platform be one where people chat."""

    def make() -> None:
        made = replace(WebhookAdapter.manifest, bursts=True)
        monkeypatch.setattr(WebhookAdapter, "manifest", made)

    return make


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
    room.say(_LONG)
    until(lambda: wall.standing)
    assert room.told(1) == [_ANSWER]
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
    room.say(_LONG)
    room.told(1)
    assert wall.happened == []


def test_a_stopped_turn_takes_it_away_too(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    room.stack.start()
    room.say(_ENDLESS)
    until(lambda: wall.standing)
    room.say("/stop")
    until(lambda: wall.did("undraft"))
    assert wall.standing == {}


def test_a_turn_that_runs_again_edits_the_same(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    points = Points({"turn.append.after": 2})
    room.stack.start(points)
    room.say(_LONG)
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
    room.say(_LONG)
    assert room.told(1) == [_ANSWER]
    until(lambda: wall.did("draft") == wall.did("undraft") + 1)
    assert len(wall.standing) == 1


def test_a_wait_that_the_platform_asks_for_is_kept(rooms: Rooms, wall: Wall, can: Can) -> None:
    """And the answer gets through all the same (K41)."""
    room = rooms()
    can(Feature.DRAFTS)
    wall.refusals = [NotSent("slow down", retryable=True, retry_after=600)]
    room.stack.start()
    room.say(_LONG)
    assert room.told(1) == [_ANSWER]
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
        room.heard(room.say(_LONG))
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
    room.say(_LONG)
    assert room.told(1) == [_ANSWER]


def test_one_that_may_not_go_now_goes_later(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    wall.removals = [_refused(1), _refused(0.1)]
    room.stack.start()
    room.say(_LONG)
    assert room.told(1) == [_ANSWER]
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
    room.heard(room.say(_LONG))
    until(lambda: _removals(room))
    (job,) = _removals(room)
    assert 590 < (job.run_at - job.created).total_seconds() < 610
    # The chat's next answer neither waits for it nor asks for it again.
    room.say("hello")
    until(lambda: room.texts() == [_ANSWER, "echo: hello"])
    assert wall.did("undraft") == 1


def test_it_goes_though_the_worker_dies_that_could_not_take_it_away(
    rooms: Rooms, wall: Wall, can: Can
) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    wall.removals = [_refused(600)]
    room.stack.start()
    room.say(_LONG)
    until(lambda: _removals(room))
    room.stack.stop()
    room.run("UPDATE jobs SET run_at = now() WHERE state = 'pending'")
    room.stack.free_all()
    room.stack.start()
    until(lambda: not wall.standing)
    assert room.told(1) == [_ANSWER]


def test_a_death_after_it_went_leaves_nothing_to_do(rooms: Rooms, wall: Wall, can: Can) -> None:
    """What is gone already is no error."""
    room = rooms()
    can(Feature.DRAFTS)
    points = Points({"draft.remove.after": 1})
    room.stack.start(points)
    room.say(_LONG)
    until(lambda: "draft.remove.after" in points.passed)
    room.stack.stop()
    room.stack.free_all()
    room.stack.start()
    assert room.told(1) == [_ANSWER]
    assert [turn.draft for turn in room.rows("turns")] == [None]
    assert wall.did("undraft") == 2


def test_one_that_stays_for_good_fails_where_it_is_seen(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms()
    can(Feature.DRAFTS)
    wall.removals = [_refused(0.1), NotSent("the chat is gone")]
    room.stack.start()
    room.say(_LONG)
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
    room.say(_LONG)
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
    room.say(_LONG)
    assert room.told(1) == [_ANSWER]
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
    room.say(_LONG)
    assert room.told(1) == [_ANSWER]
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
    room.say(_LONG)
    assert room.told(1) == [_ANSWER]
    until(lambda: wall.did("undraft") == 2)
    assert wall.standing == {}


def test_without_drafts_one_notice_says_that_it_still_works(
    rooms: Rooms, wall: Wall, chatting: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_NOTICE_SECONDS", 0.2)
    room = rooms()
    chatting()
    room.stack.start()
    room.say(_LONG)
    assert room.told(2) == ["I am still working on this.", _ANSWER]


def test_a_mail_is_answered_once(rooms: Rooms, wall: Wall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not chat waits for the answer, and not for words about it."""
    monkeypatch.setattr(progress, "_NOTICE_SECONDS", 0.0)
    room = rooms()
    room.stack.start()
    room.heard(room.say(_LONG))
    assert room.told(1) == [_ANSWER]


def test_nobody_is_told_that_while_a_person_is_asked(
    rooms: Rooms, wall: Wall, chatting: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though another call of the turn goes on meanwhile."""
    room = rooms()
    chatting()
    room.stack.start()
    asked = '[[tool clarify {"questions": [{"question": "Which one?"}]}]]'
    room.say(f'[[tool look {{"seconds": 5}}]] {asked} go')
    assert "Which one?" in room.told(1)[0]
    monkeypatch.setattr(progress, "_NOTICE_SECONDS", 0.0)
    room.say(_LONG, chat="elsewhere")

    def told() -> set[str]:
        shown = [one.body for one in room.platform.shown]
        return {body["chat"] for body in shown if "still working" in body["text"]}

    until(told)
    assert told() == {"elsewhere"}


def test_a_message_gets_its_reactions(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms(options="reactions: true")
    can(Feature.REACTIONS)
    room.stack.start()
    room.heard(room.say("hello"))
    until(lambda: wall.reactions[-1:] == [Reaction.DONE])
    assert set(wall.reactions) <= {Reaction.WORKING, Reaction.DONE}
