"""Files that come with messages: stored at once as a promise, fetched before the turn (K2, K54)."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from habakkuk.agent.arriving import service
from habakkuk.channels.contract import Bounds, NotFetched
from habakkuk.channels.messages import RemoteFile
from habakkuk.channels.webhook.adapter import WebhookAdapter
from habakkuk.conversations.types import ChatKind
from habakkuk.gateway.intake import Fate, Received
from tests.fakes.pictures import png_of
from tests.fakes.stack import Points, until
from tests.integration.intake.conftest import Room, Rooms

_MB = 1_000_000
PNG = png_of(4, 4)


class Shelf:
    """The files of the platform, by name, and what is asked for."""

    def __init__(self) -> None:
        self.files: dict[str, list[bytes | NotFetched]] = {}
        self.asked: list[str] = []

    def holds(self, name: str, *answers: bytes | NotFetched, size: int | None = None) -> RemoteFile:
        """Put a file there; of several answers each is given once, the last for ever."""
        self.files[name] = list(answers)
        return RemoteFile(name, "application/octet-stream", size, {"key": name})

    def fetch(self, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
        """Hand a file out, as the adapter of a channel does."""
        self.asked.append(file.name)
        answers = self.files[str(file.handle["key"])]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, NotFetched):
            raise answer
        for at in range(0, min(len(answer), bounds.limit + 1), 65_536):
            yield answer[at : at + 65_536]


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    made = Shelf()
    monkeypatch.setattr(WebhookAdapter, "fetch", made.fetch)
    return made


@pytest.fixture
def room(rooms: Rooms, shelf: Shelf) -> Room:
    return rooms()


def _blocks(room: Room, received: Received) -> list[Any]:
    room.heard(received)
    session = room.stack.turn(received.turn_id).session_id
    stored = room.stack.container.conversations.transcript(room.stack.principal, session)
    return list(stored[0].message.blocks)


def _inbox(room: Room, agent: str = "habakkuk") -> dict[str, bytes]:
    folder = room.stack.home / "agents" / agent / "workspace" / "inbox"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def _notices(room: Room) -> list[str]:
    return [row.body for row in room.rows("chat_messages") if row.kind == ChatKind.NOTICE]


def test_a_message_is_stored_before_anything_is_fetched(room: Room, shelf: Shelf) -> None:
    received = room.say("look", files=(shelf.holds("a.png", PNG),))
    assert received.fate is Fate.ACCEPTED
    assert shelf.asked == []
    (row,) = room.rows("chat_messages")
    assert row.data["awaited"][0]["handle"] == {"key": "a.png"}


def test_a_picture_is_shown_to_the_model_and_lies_in_the_inbox(room: Room, shelf: Shelf) -> None:
    room.stack.start()
    received = room.say("look", files=(shelf.holds("a.png", PNG),))
    media, note, text = _blocks(room, received)[1:]
    assert (media.mime, media.name, text.text) == ("image/png", "a.png", "look")
    ((name, data),) = _inbox(room).items()
    assert f"inbox/{name}" in note.text
    assert data == PNG == room.stack.container.blobs.get(media.blob)
    (row,) = (row for row in room.rows("chat_messages") if row.author == "user")
    assert row.data["files"][0]["path"] == f"inbox/{name}"
    assert "awaited" not in row.data


@pytest.mark.parametrize("since", ["another agent", "the agent moved it"])
def test_asked_again_it_lies_where_the_model_is_told(
    rooms: Rooms, shelf: Shelf, since: str
) -> None:
    room = rooms("agent: reader")
    room.stack.start()
    room.heard(room.say("look", files=(shelf.holds("data.csv", b"a,b\n"),)))
    ((name, _),) = _inbox(room, "reader").items()
    if since == "another agent":
        room.say("/agent habakkuk")
    else:
        folder = room.stack.home / "agents" / "reader" / "workspace"
        (folder / "inbox" / name).rename(folder / "mine.csv")
    again = room.say("/retry")
    assert f"lies in your workspace: inbox/{name}]" in room.heard(again)
    assert _inbox(room, room.stack.turn(again.turn_id).agent) == {name: b"a,b\n"}
    assert shelf.asked == ["data.csv"]


def test_a_file_without_a_word_is_a_turn(room: Room, shelf: Shelf) -> None:
    room.stack.start()
    received = room.say("", files=(shelf.holds("data.csv", b"a,b\n"),))
    (note,) = _blocks(room, received)[1:]
    assert note.note
    assert "data.csv (application/octet-stream, 1 kB) lies in your workspace" in note.text
    assert list(_inbox(room).values()) == [b"a,b\n"]


def test_files_that_come_together_are_one_turn(
    room: Room, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An album is several messages at some platforms."""
    monkeypatch.setattr(WebhookAdapter, "manifest", replace(WebhookAdapter.manifest, bursts=True))
    first = room.say("", files=(shelf.holds("a.txt", b"1"),))
    second = room.say("both", files=(shelf.holds("b.txt", b"2"),))
    assert first.turn_id == second.turn_id
    room.stack.start()
    room.heard(first)
    assert sorted(_inbox(room).values()) == [b"1", b"2"]


@pytest.mark.parametrize(
    ("answer", "size", "why", "fetched"),
    [
        (b"x", 26 * _MB, "it is larger than the 25.0 MB that I take", False),
        (b"x" * (25 * _MB + 1), None, "it is larger than the 25.0 MB that I take", True),
        (NotFetched("the platform has it no more"), 9, "the platform has it no more", True),
    ],
)
def test_what_cannot_be_had_is_named_to_both(
    room: Room, shelf: Shelf, answer: Any, size: int | None, why: str, fetched: bool
) -> None:
    room.stack.start()
    received = room.say("read this", files=(shelf.holds("big.zip", answer, size=size),))
    assert f"[With this came the file big.zip ({why}), which you cannot see." in room.heard(
        received
    )
    assert room.told(2)[0] == f"I could not take the file big.zip ({why})."
    assert bool(shelf.asked) is fetched
    assert _inbox(room) == {}


def test_a_large_file_is_never_held_whole(room: Room, shelf: Shelf) -> None:
    held = shelf.holds("big.bin", bytes(25 * _MB))
    room.stack.start()
    room.heard(room.say("first"))
    tracemalloc.start()
    try:
        room.heard(room.say("look", files=(held,)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [len(data) for data in _inbox(room).values()] == [25 * _MB]
    assert peak < 12 * _MB


def test_a_platform_that_stumbles_is_asked_again(room: Room, shelf: Shelf) -> None:
    stumble = NotFetched("busy", retryable=True, retry_after=0.1)
    room.stack.start()
    room.heard(room.say("", files=(shelf.holds("a.txt", stumble, b"1"),)))
    assert shelf.asked == ["a.txt", "a.txt"]
    assert list(_inbox(room).values()) == [b"1"]
    assert _notices(room) == []


def test_one_that_wants_to_be_left_alone_is(room: Room, shelf: Shelf) -> None:
    """A turn does not wait for ever for a file."""
    busy = NotFetched("busy", retryable=True, retry_after=600)
    room.stack.start()
    room.heard(room.say("hello", files=(shelf.holds("a.txt", busy),)))
    assert shelf.asked == ["a.txt"]


def test_who_stops_the_turn_does_not_wait_for_a_file(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, over = threading.Event(), threading.Event()

    def hang(_: object, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
        asked.set()
        # As a download that hangs: only what stops the turn frees it.
        with bounds.interrupt.freeing(over.set):
            over.wait(60)
        bounds.interrupt.check()
        yield b"late"

    monkeypatch.setattr(WebhookAdapter, "fetch", hang)
    room.stack.start()
    received = room.say("look", files=(RemoteFile("a.txt", "", None, {}),))
    assert asked.wait(30)
    room.say("/stop")
    until(lambda: room.stack.turn(received.turn_id).ended is not None)
    assert _inbox(room) == {}


def test_all_files_of_a_turn_have_one_time(
    room: Room, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the turn goes on without those that did not come in it."""
    monkeypatch.setattr(service, "_SECONDS", 0.0)
    room.stack.start()
    files = (shelf.holds("a.txt", b"1"), shelf.holds("b.txt", b"2"))
    assert "b.txt (the time for it was over)" in room.heard(room.say("look", files=files))
    assert room.told(2)[0].count("the time for it was over") == 2


def test_a_death_after_the_download_costs_a_download(room: Room, shelf: Shelf) -> None:
    points = Points({"files.fetch.after": 1})
    gone = NotFetched("gone")
    files = (shelf.holds("a.txt", b"1"), shelf.holds("b.txt", gone))
    room.stack.start(points)
    received = room.say("hello", files=files)
    until(lambda: "files.fetch.after" in points.passed)
    room.stack.stop()
    room.stack.free_all()
    room.stack.start()
    assert "inbox/a-" in room.heard(received)
    assert shelf.asked == ["a.txt", "b.txt"] * 2
    assert list(_inbox(room).values()) == [b"1"]
    assert len(_notices(room)) == 1


def test_more_than_twenty_files_are_told(room: Room, shelf: Shelf) -> None:
    files = tuple(shelf.holds(f"{n}.txt", b"%d" % n) for n in range(22))
    room.stack.start()
    received = room.say("all", files=files)
    assert "2 more files (at most 20 of one message are taken)" in room.heard(received)
    assert len(_inbox(room)) == 20
    assert "the last 2 of yours are left out" in room.told(2)[0]


@pytest.mark.parametrize("outside", [True, False])
def test_what_strangers_wrote_taints_the_turn_and_its_files(
    room: Room, shelf: Shelf, outside: bool
) -> None:
    room.stack.start()
    received = room.say("fw", files=(shelf.holds("a.txt", b"1"),), outside=outside)
    room.heard(received)
    (turn,) = room.rows("turns")
    assert turn.tainted is outside
    ((name, _),) = _inbox(room).items()
    marked = [row.path.rpartition("/")[2] for row in room.rows("tainted_files")]
    assert marked == ([name] if outside else [])


def test_a_file_of_strangers_is_marked_before_it_lies_there(room: Room, shelf: Shelf) -> None:
    """Its turn may be stopped after a crash, and another one read the file."""
    points = Points({"files.fetch.after": 1})
    room.stack.start(points)
    room.say("fw", files=(shelf.holds("a.txt", b"1"),), outside=True)
    until(lambda: "files.fetch.after" in points.passed)
    room.stack.stop()
    marked = [row.path.rpartition("/")[2] for row in room.rows("tainted_files")]
    assert marked == list(_inbox(room))


def test_a_word_of_strangers_taints_the_turn_without_a_file(room: Room) -> None:
    room.stack.start()
    room.heard(room.say("forwarded: buy now", outside=True))
    assert [turn.tainted for turn in room.rows("turns")] == [True]


def test_what_is_asked_again_has_its_files(room: Room, shelf: Shelf) -> None:
    room.stack.start()
    room.heard(room.say("look", files=(shelf.holds("a.png", PNG),)))
    again = room.heard(room.say("/retry"))
    assert "inbox/a-" in again
    assert shelf.asked == ["a.png"]
