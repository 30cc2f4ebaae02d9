"""Files, polls, reactions and drafts at Telegram, by the real SDK (cases: K41, K54; row 35)."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from habakkuk.channels.contract import Bounds, NotFetched, NotSent, OutcomeUnknown
from habakkuk.channels.messages import (
    OutboundFile,
    OutboundMessage,
    Poll,
    Reaction,
    RemoteFile,
)
from habakkuk.channels.telegram.adapter import TelegramAdapter
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from tests.fakes.pictures import png_of
from tests.fakes.platform import DROP_AFTER
from tests.fakes.telegram_forms import File
from tests.fakes.telegram_server import TOKEN, Refusal, TelegramServer
from tests.fakes.watched import Watched

Bot = Callable[..., TelegramAdapter]
_MESSAGE = OutboundMessage("key1", "42", "", "", "answer", reply_to="42:7")
_PNG = png_of(4, 4)
_MOST = 25_000_000


def _remote(size: int | None = None) -> RemoteFile:
    return RemoteFile("a.bin", "application/octet-stream", size, {"file_id": "F1"})


def _file(data: bytes, mime: str, name: str = "a.bin") -> OutboundFile:
    return OutboundFile(name, mime, len(data), lambda: io.BytesIO(data))


def test_a_file_is_fetched(telegram: TelegramServer, bot: Bot) -> None:
    data = bytes(range(256)) * 1000
    telegram.files["F1"] = ("documents/file 1.bin", data)
    assert b"".join(bot().fetch(_remote(len(data)), Bounds(_MOST))) == data


@pytest.mark.parametrize("told", [True, False])
def test_what_telegram_does_not_hand_out_is_said(
    telegram: TelegramServer, bot: Bot, told: bool
) -> None:
    """Bots can download 20 MB at most."""
    data = bytes(20_000_001)
    telegram.files["F1"] = ("documents/file_1", data)
    with pytest.raises(NotFetched, match=r"20\.0 MB|too big") as caught:
        list(bot().fetch(_remote(len(data) if told else None), Bounds(_MOST)))
    assert not caught.value.retryable
    assert bool(telegram.called("getFile")) is not told


def test_one_that_is_larger_than_wanted_is_not_fetched(telegram: TelegramServer, bot: Bot) -> None:
    telegram.files["F1"] = ("documents/file_1", bytes(2000))
    with pytest.raises(NotFetched):
        list(bot().fetch(_remote(), Bounds(1999)))


def test_one_whose_size_is_not_told_is_not_read_to_its_end(
    telegram: TelegramServer, bot: Bot
) -> None:
    telegram.files["F1"] = ("documents/file_1", bytes(3_000_000))
    telegram.unsized.add("documents/file_1")
    got: list[int] = []
    with pytest.raises(NotFetched):
        got.extend(map(len, bot().fetch(_remote(), Bounds(200_000))))
    assert 0 < sum(got) <= 200_000


def test_a_stopped_fetch_asks_nothing(telegram: TelegramServer, bot: Bot) -> None:
    telegram.files["F1"] = ("documents/file_1", b"x")
    interrupt = Interrupt()
    interrupt.trip(Reason.CANCELLED)
    with pytest.raises(Interrupted):
        list(bot().fetch(_remote(), Bounds(1000, interrupt)))


def test_a_large_file_is_read_while_it_is_sent(telegram: TelegramServer, bot: Bot) -> None:
    body = Watched(bytes(1_000_000))
    file = OutboundFile("a.bin", "application/pdf", 1_000_000, lambda: body)
    bot().send(replace(_MESSAGE, file=file))
    assert max(body.asked) <= 65_536
    assert body.closed


def test_a_path_on_the_server_s_own_disk_is_not_read(telegram: TelegramServer, bot: Bot) -> None:
    """A server with --local tells one: it is no file of this machine's to read."""
    telegram.files["F1"] = (__file__, b"x")
    with pytest.raises(NotFetched, match="--local"):
        list(bot().fetch(_remote(), Bounds(_MOST)))


@pytest.mark.parametrize(
    ("refusal", "retryable"),
    [
        (Refusal(400, "Bad Request: wrong file_id"), False),
        (Refusal(429, "Too Many Requests", {"retry_after": 7}), True),
        (Refusal(500, "Internal Server Error"), True),
    ],
)
def test_a_refusal_says_whether_to_come_again(
    telegram: TelegramServer, bot: Bot, refusal: Refusal, retryable: bool
) -> None:
    telegram.refusals["getFile"].append(refusal)
    with pytest.raises(NotFetched) as caught:
        list(bot().fetch(_remote(), Bounds(_MOST)))
    assert caught.value.retryable is retryable
    assert caught.value.retry_after == (7 if refusal.status == 429 else None)


def test_no_failure_of_a_download_tells_the_token(telegram: TelegramServer, bot: Bot) -> None:
    """The address of a file holds it (row 35)."""
    telegram.files["F1"] = ("documents/file_1", b"x")
    telegram.expired.add("documents/file_1")
    with pytest.raises(NotFetched) as caught:
        list(bot().fetch(_remote(), Bounds(_MOST)))
    assert TOKEN not in str(caught.value)
    assert "not there any more" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "mime", "method"),
    [
        (_PNG, "image/png", "sendPhoto"),
        (b"GIF89a", "image/gif", "sendDocument"),
        (b"%PDF-", "application/pdf", "sendDocument"),
        (_PNG + bytes(10_000_000), "image/png", "sendDocument"),
    ],
    ids=["photo", "gif", "pdf", "large"],
)
def test_a_file_goes_as_what_it_is(
    telegram: TelegramServer, bot: Bot, data: bytes, mime: str, method: str
) -> None:
    message = replace(_MESSAGE, text="see **here**", file=_file(data, mime, "größe.bin"))
    receipt = bot().send(message)
    (shown,) = telegram.shown
    assert (shown.method, shown.text) == (method, "see here")
    assert [shown.marked(one) for one in shown.entities] == ["here"]
    sent = shown.asked["photo" if method == "sendPhoto" else "document"]
    assert sent == File("größe.bin", data)
    assert receipt.id == f"42:{shown.id}"
    assert shown.asked["reply_parameters"]["message_id"] == 7


def test_a_picture_that_is_no_photo_for_telegram_goes_as_a_file(
    telegram: TelegramServer, bot: Bot
) -> None:
    data = b"\x89PNG\r\n\x1a\nbroken"
    bot().send(replace(_MESSAGE, file=_file(data, "image/png")))
    (shown,) = telegram.shown
    assert (shown.method, shown.asked["document"].data) == ("sendDocument", data)


def test_a_file_that_nobody_answered_for_is_unknown(telegram: TelegramServer, bot: Bot) -> None:
    telegram.plans.append(DROP_AFTER)
    with pytest.raises(OutcomeUnknown):
        bot().send(replace(_MESSAGE, file=_file(_PNG, "image/png")))


def test_a_server_of_one_s_own_takes_more(telegram: TelegramServer, bot: Bot) -> None:
    assert bot(api_url="https://api.telegram.org").file_limit == 50_000_000
    assert bot().file_limit == 100_000_000


@pytest.mark.parametrize("multiple", [True, False])
def test_a_poll_is_one_of_telegram_s(telegram: TelegramServer, bot: Bot, multiple: bool) -> None:
    poll = Poll("[Which]?", ("tea", "[soup]", "{ham}"), multiple)
    bot().send(replace(_MESSAGE, poll=poll))
    (shown,) = telegram.shown
    assert (shown.method, shown.text) == ("sendPoll", "[Which]?")
    assert [one["text"] for one in shown.asked["options"]] == ["tea", "[soup]", "{ham}"]
    assert (shown.asked.get("allows_multiple_answers") == "true") is multiple


def test_a_reaction_replaces_the_one_before(telegram: TelegramServer, bot: Bot) -> None:
    adapter, at = bot(), ("42", 7)
    for now, before in ((Reaction.WORKING, None), (Reaction.DONE, Reaction.WORKING)):
        adapter.react("42", "42:7", now, before)
        assert telegram.reactions[at] == [now.value]
    adapter.react("42", "42:7", None, Reaction.DONE)
    assert telegram.reactions[at] == []


@pytest.mark.parametrize("reaction", list(Reaction))
def test_each_reaction_is_one_that_telegram_has(
    telegram: TelegramServer, bot: Bot, reaction: Reaction
) -> None:
    bot().react("42", "42:7", reaction, None)
    assert telegram.reactions["42", 7] == [reaction.value]


def test_a_draft_comes_silently_changes_and_goes(telegram: TelegramServer, bot: Bot) -> None:
    adapter = bot()
    draft = adapter.draft("42", "31", "42:7", "Working…")
    (shown,) = telegram.shown
    assert shown.asked["disable_notification"] == "true"
    assert shown.asked["message_thread_id"] == "31"
    assert draft == f"42:{shown.id}"
    adapter.redraft("42", draft, "Working… more")
    assert telegram.texts["42", shown.id] == "Working… more"
    adapter.undraft("42", draft)
    assert telegram.shown == []


def test_what_says_so_already_and_what_is_gone_is_no_failure(
    telegram: TelegramServer, bot: Bot
) -> None:
    """Telegram's "message is not modified" is success (K41)."""
    adapter = bot()
    draft = adapter.draft("42", "", None, "Working…")
    adapter.redraft("42", draft, "Working…")
    for _ in range(2):
        adapter.undraft("42", draft)


def test_a_wait_that_telegram_asks_for_is_told(telegram: TelegramServer, bot: Bot) -> None:
    adapter = bot()
    draft = adapter.draft("42", "", None, "Working…")
    busy = Refusal(429, "Too Many Requests: retry after 33", {"retry_after": 33})
    telegram.refusals["editMessageText"].append(busy)
    with pytest.raises(NotSent) as caught:
        adapter.redraft("42", draft, "more")
    assert caught.value.retry_after == 33


def _ask_all(adapter: TelegramAdapter) -> Iterator[Callable[[], Any]]:
    draft = adapter.draft("42", "", None, "Working…")
    yield lambda: adapter.draft("42", "", None, "x")
    yield lambda: adapter.redraft("42", draft, "more")
    yield lambda: adapter.undraft("42", draft)
    yield lambda: adapter.react("42", "42:1", Reaction.DONE, None)


def test_a_lost_answer_leaves_nothing_unknown_that_is_as_good_done_twice(
    telegram: TelegramServer, bot: Bot
) -> None:
    for ask in _ask_all(bot()):
        telegram.bodies.append(b"<html>")
        with pytest.raises(NotSent) as caught:
            ask()
        assert caught.value.retryable
