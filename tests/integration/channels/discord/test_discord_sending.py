"""Messages to Discord over REST, and what becomes of each (cases: K2, K41, K44; row 35)."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from habakkuk.channels.contract import Bounds, NotFetched, NotSent, OutcomeUnknown
from habakkuk.channels.discord.adapter import DiscordAdapter
from habakkuk.channels.messages import (
    Button,
    OfferedCommand,
    OutboundFile,
    OutboundMessage,
    Poll,
    Press,
    Reaction,
    RemoteFile,
)
from habakkuk.core.errors import ChannelError
from tests.fakes.discord_rest import Refusal
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE, refuse

Bot = Callable[..., DiscordAdapter]
_MESSAGE = OutboundMessage("key1", "42", "", "hello", "answer")
_PRESS = Press("900", "42", "42", "hb|n1|0", "71")
_LONG_KEY = "msg_" + "a" * 40
# Discord's first moment with an id: long before anything that a test writes.
_OLD = str(1 << 22)


def _answered(discord: DiscordServer) -> OutboundMessage:
    """Return an answer to something that a person wrote."""
    return replace(_MESSAGE, reply_to=discord.says("a question"))


def test_an_answer_stands_under_what_asked_and_pings_nobody(
    discord: DiscordServer, bot: Bot
) -> None:
    answer = _answered(discord)
    for part in (1, 2):
        bot().send(replace(answer, key=f"key{part}", text="@everyone hi", part=part, parts=2))
    first, second = discord.shown
    assert first.asked["message_reference"] == {
        "message_id": answer.reply_to,
        "fail_if_not_exists": False,
    }
    assert "message_reference" not in second.asked
    assert first.text == "\\@everyone hi"
    assert first.asked["allowed_mentions"] == {"parse": []}


def test_links_are_not_opened_for_a_look(discord: DiscordServer, bot: Bot) -> None:
    bot().send(_MESSAGE)
    bot(link_previews=True).send(replace(_MESSAGE, key="key2"))
    assert [one.asked["flags"] & 4 for one in discord.shown] == [4, 0]


def test_a_repeat_within_some_minutes_is_shown_once(discord: DiscordServer, bot: Bot) -> None:
    message = replace(_MESSAGE, key=_LONG_KEY)
    first, again = bot().send(message), bot().send(message)
    assert first == again
    assert len(discord.shown) == 1
    assert discord.shown[0].asked["enforce_nonce"] is True


def test_what_was_sent_and_deleted_is_not_sent_again(discord: DiscordServer, bot: Bot) -> None:
    """Discord answers a known nonce whose message is gone with its code for an unknown message."""
    path = "POST /channels/42/messages"
    discord.refusals[path].append(Refusal(404, "Unknown Message", 10008))
    assert bot().send(_MESSAGE).id is None


def test_after_that_an_answer_is_found_by_its_words_and_place(
    discord: DiscordServer, bot: Bot
) -> None:
    """Discord keeps no nonce with a message."""
    discord.says("older", id=_OLD)
    answer = replace(_MESSAGE, reply_to=_OLD, text="**words**")
    assert bot().find(answer) is None
    sent = bot().send(answer)
    # It is young: sent again, it is the same message at Discord.
    assert bot().find(answer) is None
    stored = discord.rooms["42"].messages[-1]
    assert stored["id"] == sent.id
    stored["id"] = str(2 << 22)
    assert bot().find(answer) == replace(sent, id=stored["id"])
    assert bot().find(replace(answer, text="other words")) is None
    assert bot().find(replace(answer, part=2, parts=2)) is None
    # Of what answers nothing, as a reminder of each day, there may be many of the same words.
    assert bot().find(replace(answer, reply_to=None)) is None


def _outbound(body: bytes = b"x", name: str = "a.txt") -> OutboundFile:
    return OutboundFile(name, "text/plain", len(body), lambda: io.BytesIO(body))


def _aged(discord: DiscordServer) -> str:
    """Let the last message be older than Discord remembers keys; return its id."""
    discord.rooms["42"].messages[-1]["id"] = aged = str(2 << 22)
    return aged


def test_a_file_is_known_by_its_key(discord: DiscordServer, bot: Bot) -> None:
    """By their number alone another file would be taken for it, and never be sent."""
    discord.says("older", id=_OLD)
    answer = replace(_MESSAGE, reply_to=_OLD, text="", file=_outbound())
    bot().send(answer)
    aged = _aged(discord)
    found = bot().find(answer)
    assert found is not None
    assert found.id == aged
    assert bot().find(replace(answer, key="key2", file=_outbound(b"y"))) is None


def test_a_poll_is_known_by_its_words(discord: DiscordServer, bot: Bot) -> None:
    discord.says("older", id=_OLD)
    answer = replace(_MESSAGE, reply_to=_OLD, text="", poll=Poll("Tea?", ("Yes", "No")))
    bot().send(answer)
    _aged(discord)
    assert bot().find(answer) is not None
    for other in (Poll("Milk?", ("Yes", "No")), Poll("Tea?", ("Yes", "Maybe"))):
        assert bot().find(replace(answer, poll=other)) is None


def test_others_words_are_not_taken_for_the_bots(discord: DiscordServer, bot: Bot) -> None:
    discord.says("older", id=_OLD)
    discord.says("hello", id=str(2 << 22), message_reference={"message_id": _OLD, "type": 0})
    assert bot().find(replace(_MESSAGE, reply_to=_OLD)) is None


@pytest.mark.parametrize("refusal", [Refusal(500, "x"), Refusal(403, "Missing Access", 50001)])
def test_a_chat_that_cannot_be_read_is_no_proof(
    discord: DiscordServer, bot: Bot, refusal: Refusal
) -> None:
    discord.refusals["GET /channels/42/messages"].append(refusal)
    with pytest.raises(NotSent):
        bot().find(_answered(discord))


@pytest.mark.parametrize(("count", "rows"), [(2, [2]), (7, [5, 2])])
def test_buttons_stand_below_the_last_part(
    discord: DiscordServer, bot: Bot, count: int, rows: list[int]
) -> None:
    buttons = tuple(Button(f"choice {n}", f"hb|{n}") for n in range(count))
    for part in (1, 2):
        bot().send(replace(_MESSAGE, key=f"k{part}", buttons=buttons, part=part, parts=2))
    first, second = discord.shown
    assert "components" not in first.asked
    shown = second.asked["components"]
    assert [len(row["components"]) for row in shown] == rows
    pressed = [(one["label"], one["custom_id"]) for row in shown for one in row["components"]]
    assert pressed == [(button.label, button.data) for button in buttons]


@pytest.mark.parametrize("wait", [("7", 7.0), ("0.35", 0.35)])
def test_a_wait_is_taken_over(discord: DiscordServer, bot: Bot, wait: tuple[str, float]) -> None:
    discord.plans.append(refuse(429, retry_after=wait[0]))
    with pytest.raises(NotSent, match="left alone") as caught:
        bot().send(_MESSAGE)
    assert (caught.value.retryable, caught.value.retry_after) == (True, wait[1])


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [
        (403, 50007, "share a server"),
        (403, 50013, "Send Messages"),
        (403, 50001, "View Channel"),
        (404, 10003, "is gone"),
        (401, 0, "reset it"),
        (400, 50035, "Invalid Form Body"),
    ],
)
def test_a_chat_that_is_closed_is_not_asked_again(
    discord: DiscordServer, bot: Bot, status: int, code: int, advice: str
) -> None:
    path = "POST /channels/42/messages"
    discord.refusals[path].append(Refusal(status, "Invalid Form Body", code))
    with pytest.raises(NotSent, match=advice) as caught:
        bot().send(_MESSAGE)
    assert not caught.value.retryable


@pytest.mark.parametrize("plan", [DROP_AFTER, DROP_BEFORE])
def test_a_line_that_breaks_is_settled_by_sending_it_again(
    discord: DiscordServer, bot: Bot, plan: Any
) -> None:
    discord.plans.append(plan)
    answer = _answered(discord)
    with pytest.raises(OutcomeUnknown):
        bot().send(answer)
    assert bot().find(answer) is None
    bot().send(answer)
    assert len(discord.shown) == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"<html>", b'{"ok": true}'])
def test_an_answer_of_something_else_leaves_it_unknown(
    discord: DiscordServer, bot: Bot, body: bytes
) -> None:
    discord.bodies.append(body)
    with pytest.raises(OutcomeUnknown):
        bot().send(_MESSAGE)


def test_a_chat_of_another_platform_goes_nowhere(discord: DiscordServer, bot: Bot) -> None:
    with pytest.raises(NotSent, match="no id"):
        bot().send(replace(_MESSAGE, chat="../../users/@me"))
    assert discord.calls == []


def test_a_file_goes_with_what_is_said_of_it(discord: DiscordServer, bot: Bot) -> None:
    content = b"\x00\r\n--part\r\n" * 10
    file = OutboundFile(
        'a "report"\r\n.txt', "text/plain", len(content), lambda: io.BytesIO(content)
    )
    bot().send(replace(_MESSAGE, text="Here.", file=file))
    (shown,) = discord.shown
    assert shown.file == content
    assert shown.text == "Here."
    (attached,) = shown.asked["attachments"]
    assert (attached["id"], attached["filename"]) == (0, "a _report___.txt")
    assert bot().file_limit == 10 * 1024 * 1024


def test_a_poll_is_open_for_a_day(discord: DiscordServer, bot: Bot) -> None:
    poll = Poll("Lunch?", ("tea", "soup"), multiple=True)
    bot().send(replace(_MESSAGE, text="", poll=poll))
    assert discord.shown[0].asked["poll"] == {
        "question": {"text": "Lunch?"},
        "answers": [{"poll_media": {"text": "tea"}}, {"poll_media": {"text": "soup"}}],
        "duration": 24,
        "allow_multiselect": True,
    }
    with pytest.raises(NotSent, match="choices"):
        bot().send(replace(_MESSAGE, text="", poll=replace(poll, options=("x",) * 11)))


def test_one_reaction_stands_in_the_place_of_another(discord: DiscordServer, bot: Bot) -> None:
    said = discord.says("hello")
    bot().react("42", said, Reaction.WORKING, None)
    bot().react("42", said, Reaction.DONE, Reaction.WORKING)
    bot().react("42", said, None, Reaction.DONE)
    done = [(method, path.split("/")[-2]) for method, path, _ in discord.calls]
    assert done == [("PUT", "👀"), ("DELETE", "👀"), ("PUT", "👍"), ("DELETE", "👍")]
    discord.deletes("42", said)
    bot().react("42", said, Reaction.DONE, Reaction.WORKING)


def test_a_draft_is_silent_changes_and_goes(discord: DiscordServer, bot: Bot) -> None:
    asked = discord.says("hello")
    draft = bot().draft("42", "", asked, "working " + "x" * 3000)
    (shown,) = discord.shown
    assert shown.asked["flags"] & (1 << 12)
    assert len(shown.text) <= 2000
    bot().redraft("42", draft, "*more*")
    assert discord.rooms["42"].messages[-1]["content"] == "*more*"
    bot().undraft("42", draft)
    bot().undraft("42", draft)
    assert [one["id"] for one in discord.rooms["42"].messages] == [asked]
    discord.refusals[f"PATCH /channels/42/messages/{draft}"].append(
        Refusal(429, "", retry_after=33)
    )
    with pytest.raises(NotSent) as caught:
        bot().redraft("42", draft, "even more")
    assert caught.value.retry_after == 33


def test_typing_is_shown(discord: DiscordServer, bot: Bot) -> None:
    discord.says("hello")
    bot().typing("42", "")
    assert len(discord.called("POST", "/channels/42/typing")) == 1


def test_a_press_that_is_too_late_to_answer_loses_its_buttons(
    discord: DiscordServer, bot: Bot
) -> None:
    """As after a restart: what the answer needs was told to the process before."""
    sent = bot().send(replace(_MESSAGE, buttons=(Button("Yes", "hb|n1|0"),)))
    bot().settle(replace(_PRESS, message=str(sent.id)), "Allowed.")
    assert discord.rooms["42"].messages[-1]["components"] == []
    bot().settle(replace(_PRESS, message="999"), "Allowed.")
    bot().decline(_PRESS, "This is not yours to decide.")
    assert discord.called("POST", r"/interactions/.*") == []


def _file(discord: DiscordServer, content: bytes) -> RemoteFile:
    attachment = discord.attachment("a.txt", content)
    said = discord.says("look", attachments=[attachment])
    handle = {"channel": "42", "message": said, "attachment": attachment["id"]}
    return RemoteFile("a.txt", "text/plain", len(content), handle)


def test_a_file_is_fetched_from_where_it_lies_now(discord: DiscordServer, bot: Bot) -> None:
    content = b"words " * 100_000
    pieces = list(bot().fetch(_file(discord, content), Bounds(len(content))))
    assert b"".join(pieces) == content
    assert len(pieces) > 1


def test_a_file_that_cannot_be_had_says_why(discord: DiscordServer, bot: Bot) -> None:
    file = _file(discord, b"words")
    with pytest.raises(NotFetched, match="more than 4 bytes"):
        list(bot().fetch(file, Bounds(4)))
    with pytest.raises(NotFetched, match="any more"):
        list(bot().fetch(replace(file, handle={**file.handle, "attachment": "1"}), Bounds(100)))
    path = f"GET /channels/42/messages/{file.handle['message']}"
    discord.refusals[path].append(Refusal(429, "", retry_after=3))
    with pytest.raises(NotFetched) as caught:
        list(bot().fetch(file, Bounds(100)))
    assert (caught.value.retryable, caught.value.retry_after) == (True, 3)
    with pytest.raises(NotFetched, match="no message"):
        list(bot().fetch(replace(file, handle={"channel": "../x"}), Bounds(100)))


def test_a_file_is_fetched_from_discord_only(
    discord: DiscordServer, bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _file(discord, b"words")
    elsewhere = [{**discord.attachment("a.txt", b""), "id": file.handle["attachment"]}]
    for url in ("http://cdn.discordapp.com/x", "https://e.example/x", "file:///etc/passwd"):
        monkeypatch.setattr(
            discord,
            "fresh",
            lambda sent, at=url: sent | {"attachments": [elsewhere[0] | {"url": at}]},
        )
        with pytest.raises(NotFetched, match="not Discord's"):
            list(bot().fetch(file, Bounds(100)))


def _send(adapter: DiscordAdapter) -> object:
    return adapter.send(_MESSAGE)


def _type(adapter: DiscordAdapter) -> None:
    adapter.typing("42", "")


@pytest.mark.parametrize("act", [_send, _type, DiscordAdapter.check])
@pytest.mark.parametrize("fault", ["unknown token", "dropped", "nobody there"])
def test_the_token_stands_in_no_error_and_no_log(
    discord: DiscordServer,
    bot: Bot,
    caplog: pytest.LogCaptureFixture,
    act: Callable[[DiscordAdapter], Any],
    fault: str,
) -> None:
    caplog.set_level(logging.WARNING)
    discord.says("hello")
    more = {"api_url": "http://127.0.0.1:1"} if fault == "nobody there" else {}
    if fault == "unknown token":
        discord.token = "another"
    if fault == "dropped":
        discord.bodies.append(None)
    with pytest.raises(ChannelError) as caught:
        act(bot(**more))
    chain: list[BaseException] = [caught.value]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    told = [f"{error!r} {error}" for error in chain] + [caplog.text]
    assert not any(TOKEN in text for text in told)


def test_it_says_who_it_is(bot: Bot) -> None:
    assert bot().check() == "@hab"


def test_it_says_which_switch_is_off(discord: DiscordServer, bot: Bot) -> None:
    discord.gateway.content_allowed = False
    with pytest.raises(NotSent, match="Message Content Intent"):
        bot().check()
    assert bot(message_content=False).check() == "@hab"


def test_the_list_of_commands_is_that_of_help(discord: DiscordServer, bot: Bot) -> None:
    bot().offer([OfferedCommand("stop", "End the turn that runs."), OfferedCommand("a", "x" * 200)])
    assert discord.commands["stop"] == "End the turn that runs."
    assert len(discord.commands["a"]) == 100
