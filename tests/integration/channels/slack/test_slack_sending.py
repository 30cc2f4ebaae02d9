"""Messages to Slack by the real SDK, and what becomes of each (cases: K14, K41, K44; row 35)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from habakkuk.channels.contract import Bounds, NotSent, OutcomeUnknown
from habakkuk.channels.messages import (
    Button,
    OutboundMessage,
    Press,
    Reaction,
    RemoteFile,
)
from habakkuk.channels.slack.adapter import SlackAdapter
from habakkuk.core.errors import ChannelError
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE, refuse
from tests.fakes.slack_server import BOT, BOT_TOKEN, TEAM, Refusal, SlackServer
from tests.integration.channels.slack.parts import app

_MESSAGE = OutboundMessage("key1", "D1", "", "hello", "answer", reply_to=f"{TEAM}:D1:5.1")
_BUTTONS = (Button("Allow once", "hb|n|0"), Button("Deny", "hb|n|1"))
_THREAD = "1515449522.000016"


def _press(slack: SlackServer, thread: str = "") -> Press:
    """Send a question with buttons, and press one of them."""
    asked = replace(_MESSAGE, text="**May I?**", thread=thread, buttons=_BUTTONS)
    app(slack).send(asked)
    message = f"{TEAM}:D1:{slack.shown[-1].ts}"
    return Press(f"{message}:1.1:U42", "D1", "U42", "hb|n|0", message, thread)


def test_markdown_goes_as_it_is_with_a_line_for_phones(slack: SlackServer) -> None:
    said = "# Head\n\n**bold** and [here](https://e.example)\n\n- one"
    app(slack).send(replace(_MESSAGE, text=said))
    (shown,) = slack.shown
    assert shown.asked["blocks"] == [{"type": "markdown", "text": said}]
    assert shown.asked["text"] == "# Head **bold** and [here](https://e.example) - one"
    assert shown.asked["metadata"]["event_payload"] == {"key": "key1"}


def test_an_answer_calls_nobody(slack: SlackServer) -> None:
    """The server counts it as a fault when somebody is called."""
    app(slack).send(replace(_MESSAGE, text="<!channel> ask <@U1> in <#C1>"))
    assert slack.shown[0].text == "<!channel> ask <@U1> in <#C1>"


def test_the_longest_text_is_taken(slack: SlackServer) -> None:
    app(slack).send(replace(_MESSAGE, text="x" * 12_000, buttons=_BUTTONS))
    assert len(slack.shown) == 1


def test_an_answer_stands_in_its_thread(slack: SlackServer) -> None:
    app(slack).send(replace(_MESSAGE, chat="C1", thread=_THREAD))
    assert slack.shown[0].thread == _THREAD


def test_links_are_not_opened_for_a_look(slack: SlackServer) -> None:
    app(slack).send(_MESSAGE)
    app(slack, link_previews=True).send(_MESSAGE)
    looks = [(one.asked["unfurl_links"], one.asked["unfurl_media"]) for one in slack.shown]
    assert looks == [(False, False), (True, True)]


def test_buttons_stand_below_the_last_part(slack: SlackServer) -> None:
    for part in (1, 2):
        app(slack).send(replace(_MESSAGE, buttons=_BUTTONS, part=part, parts=2))
    first, second = slack.shown
    assert [one["type"] for one in first.asked["blocks"]] == ["markdown"]
    (_, row) = second.asked["blocks"]
    pressed = [(one["text"]["text"], one["value"]) for one in row["elements"]]
    assert pressed == [(button.label, button.data) for button in _BUTTONS]


@pytest.mark.parametrize("code", ["invalid_blocks", "msg_blocks_too_long", "invalid_blocks_format"])
def test_formatting_that_is_refused_is_left_out(slack: SlackServer, code: str) -> None:
    slack.refusals["chat.postMessage"].append(Refusal(code))
    app(slack).send(replace(_MESSAGE, text="**bold** <b> & 1"))
    (shown,) = slack.shown
    assert "blocks" not in shown.asked
    assert shown.text == "**bold** <b> & 1"


@pytest.mark.parametrize("letter", ["&", "<", ">", "x"])
def test_the_longest_text_goes_without_blocks_too(slack: SlackServer, letter: str) -> None:
    """Escaped, an `&` is five characters, and Slack takes 40,000."""
    slack.refusals["chat.postMessage"].extend([Refusal("invalid_blocks")] * 2)
    slack.refusals["chat.postMessage"].append(Refusal("service_unavailable"))
    message = replace(_MESSAGE, text=letter * 12_000)
    with pytest.raises(NotSent):
        app(slack).send(message)
    told = [len(asked["text"]) for asked in slack.called("chat.postMessage")]
    assert max(told) <= 40_000


def test_what_is_too_long_once_it_is_escaped_goes_in_plain_blocks(slack: SlackServer) -> None:
    slack.refusals["chat.postMessage"].append(Refusal("invalid_blocks"))
    app(slack).send(replace(_MESSAGE, text="&" * 12_000))
    assert slack.shown[0].text == "\n".join(["&" * 3000] * 4)


def test_what_slack_takes_in_no_block_is_cut_and_says_so(slack: SlackServer) -> None:
    slack.refusals["chat.postMessage"].extend([Refusal("invalid_blocks")] * 2)
    app(slack).send(replace(_MESSAGE, text="&" * 12_000))
    assert slack.shown[0].text == "&" * 7999 + "…"


def test_buttons_outlive_formatting_that_is_refused(slack: SlackServer) -> None:
    slack.refusals["chat.postMessage"].append(Refusal("invalid_blocks"))
    app(slack).send(replace(_MESSAGE, text="x" * 3001, buttons=_BUTTONS))
    kinds = [one["type"] for one in slack.shown[0].asked["blocks"]]
    assert kinds == ["section", "section", "actions"]


def test_what_is_refused_in_every_form_is_not_sent(slack: SlackServer) -> None:
    slack.refusals["chat.postMessage"].extend([Refusal("invalid_blocks")] * 3)
    with pytest.raises(NotSent) as caught:
        app(slack).send(replace(_MESSAGE, buttons=_BUTTONS))
    assert not caught.value.retryable
    assert slack.shown == []


def test_a_wait_is_taken_over(slack: SlackServer) -> None:
    slack.plans.append(refuse(429, retry_after="33"))
    with pytest.raises(NotSent) as caught:
        app(slack).send(_MESSAGE)
    assert (caught.value.retryable, caught.value.retry_after) == (True, 33)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("channel_not_found", "invite"),
        ("not_in_channel", "/invite"),
        ("is_archived", "archived"),
        ("account_inactive", "install it again"),
        ("invalid_auth", "Install App"),
        ("token_revoked", "install"),
        ("something_new", "something_new"),
    ],
)
def test_what_lasts_is_not_tried_again(slack: SlackServer, code: str, words: str) -> None:
    slack.refusals["chat.postMessage"].append(Refusal(code))
    with pytest.raises(NotSent, match=words) as caught:
        app(slack).send(_MESSAGE)
    assert not caught.value.retryable


def test_a_missing_scope_is_named(slack: SlackServer) -> None:
    slack.refusals["chat.postMessage"].append(Refusal("missing_scope", needed="chat:write"))
    with pytest.raises(NotSent, match="chat:write"):
        app(slack).send(_MESSAGE)


@pytest.mark.parametrize("code", ["ratelimited", "service_unavailable", "team_added_to_org"])
def test_what_passes_is_tried_again(slack: SlackServer, code: str) -> None:
    slack.refusals["chat.postMessage"].append(Refusal(code))
    with pytest.raises(NotSent) as caught:
        app(slack).send(_MESSAGE)
    assert caught.value.retryable


@pytest.mark.parametrize("code", ["internal_error", "fatal_error"])
def test_what_slack_may_have_done_half_is_unknown(slack: SlackServer, code: str) -> None:
    slack.refusals["chat.postMessage"].append(Refusal(code))
    with pytest.raises(OutcomeUnknown):
        app(slack).send(_MESSAGE)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"<html>", b'{"ok": 1}', None])
def test_an_answer_of_something_else_leaves_it_unknown(
    slack: SlackServer, body: bytes | None
) -> None:
    slack.bodies.append(body)
    with pytest.raises(OutcomeUnknown):
        app(slack).send(_MESSAGE)


@pytest.mark.parametrize("thread", ["", _THREAD])
@pytest.mark.parametrize(("plan", "there"), [(DROP_AFTER, True), (DROP_BEFORE, False)])
def test_what_became_of_a_send_is_asked(
    slack: SlackServer, plan: Any, there: bool, thread: str
) -> None:
    message = replace(_MESSAGE, thread=thread)
    slack.plans.append(plan)
    with pytest.raises(OutcomeUnknown):
        app(slack).send(message)
    for n in range(450):
        slack.writes(f"others write {n}", "D1", **({"thread_ts": thread} if thread else {}))
    found = app(slack).find(message)
    wanted = f"{TEAM}:D1:{slack.posts[0].ts}"
    assert (found.id if found else None) == (wanted if there else None)
    assert app(slack).find(replace(message, key="key2")) is None


def test_in_a_busy_channel_what_was_sent_last_is_looked_at_first(slack: SlackServer) -> None:
    for n in range(1100):
        slack.writes(f"others write {n}", "D1")
    slack.plans.append(DROP_AFTER)
    with pytest.raises(OutcomeUnknown):
        app(slack).send(_MESSAGE)
    assert app(slack).find(_MESSAGE) is not None


def test_a_history_that_cannot_be_read_now_is_asked_later(slack: SlackServer) -> None:
    slack.refusals["conversations.history"].append(Refusal("internal_error"))
    with pytest.raises(NotSent) as caught:
        app(slack).find(_MESSAGE)
    assert caught.value.retryable


def test_a_press_takes_the_buttons_away_and_says_what_became_of_it(slack: SlackServer) -> None:
    for thread in ("", _THREAD):
        app(slack).settle(_press(slack, thread), "Allowed.")
        shown = slack.shown[-1]
        assert [one["type"] for one in shown.asked["blocks"]] == ["markdown", "context"]
        assert shown.text == "**May I?**\nAllowed."


def test_a_press_of_somebody_else_is_answered_to_them_alone(slack: SlackServer) -> None:
    app(slack).decline(_press(slack, _THREAD), "This is not yours to decide.")
    (told,) = slack.whispers
    assert (told["user"], told["thread_ts"]) == ("U42", _THREAD)
    assert told["text"] == "This is not yours to decide."
    assert slack.shown[0].asked["blocks"][-1]["type"] == "actions"


def test_a_question_that_is_gone_is_settled(slack: SlackServer) -> None:
    press = _press(slack)
    slack.refusals["chat.update"].append(Refusal("message_not_found"))
    app(slack).settle(press, "Allowed.")
    slack.shown.clear()
    app(slack).settle(press, "Allowed.")


def test_a_reaction_gives_way_to_the_next(slack: SlackServer) -> None:
    adapter, message = app(slack), f"{TEAM}:D1:5.1"
    stood = slack.reactions["D1", "5.1"]
    adapter.react("D1", message, Reaction.WORKING, None)
    assert stood == ["eyes"]
    adapter.react("D1", message, Reaction.DONE, Reaction.WORKING)
    assert stood == ["+1"]
    adapter.react("D1", message, None, Reaction.DONE)
    assert stood == []


def test_a_reaction_that_stands_or_is_gone_already_is_no_error(slack: SlackServer) -> None:
    adapter, message = app(slack), f"{TEAM}:D1:5.1"
    for _ in range(2):
        adapter.react("D1", message, Reaction.FAILED, Reaction.WORKING)
    assert slack.reactions["D1", "5.1"] == ["cry"]
    adapter.react("D1", "of another chat", Reaction.DONE, None)


def test_a_draft_is_posted_changed_and_taken_away(slack: SlackServer) -> None:
    adapter = app(slack)
    draft = adapter.draft("C1", _THREAD, None, "working: `ls`")
    (shown,) = slack.shown
    assert (shown.thread, shown.text) == (_THREAD, "working: `ls`")
    adapter.redraft("C1", draft, "working: `cat <x>`\n" * 300)
    assert shown.text.startswith("working: `cat <x>`")
    adapter.undraft("C1", draft)
    assert slack.shown == []
    adapter.undraft("C1", draft)


def test_a_wait_for_a_draft_is_told(slack: SlackServer) -> None:
    adapter = app(slack)
    draft = adapter.draft("C1", "", None, "working")
    slack.refusals["chat.update"].append(Refusal("ratelimited", 429, headers={"retry-after": "9"}))
    with pytest.raises(NotSent) as caught:
        adapter.redraft("C1", draft, "still working")
    assert (caught.value.retryable, caught.value.retry_after) == (True, 9)


def test_it_says_who_it_is(slack: SlackServer) -> None:
    assert app(slack).check() == "@habakkuk in Acme"


def test_in_each_workspace_the_bot_of_it_speaks(slack: SlackServer) -> None:
    slack.teams["xoxb-of-another-workspace"] = "T0000002"
    adapter = app(
        slack, workspaces={"T0000002": "TWO"}, secrets={"TWO": "xoxb-of-another-workspace"}
    )
    for chat in ("D1", "T0000002/D1"):
        adapter.send(replace(_MESSAGE, chat=chat, buttons=_BUTTONS))
    assert [(one.team, one.chat) for one in slack.shown] == [(TEAM, "D1"), ("T0000002", "D1")]
    message = f"T0000002:D1:{slack.shown[1].ts}"
    press = Press("p", "T0000002/D1", "T0000002/U42", "hb|n|0", message)
    adapter.decline(press, "Not yours.")
    assert slack.whispers[0]["user"] == "U42"
    adapter.settle(press, "Allowed.")
    assert slack.shown[1].text == "hello\nAllowed."
    adapter.react("T0000002/D1", message, Reaction.DONE, None)
    assert slack.reactions["D1", slack.shown[1].ts] == ["+1"]
    adapter.undraft("T0000002/D1", adapter.draft("T0000002/D1", "", None, "working"))
    assert adapter.find(replace(_MESSAGE, chat="T0000002/D1")) is not None
    assert adapter.check() == "@habakkuk in Acme, T0000002"


def test_names_and_threads_are_asked_for_once(slack: SlackServer) -> None:
    knows = app(slack).workspaces.own
    root = slack.writes(f"<@{BOT}> hi", "C1")
    for _ in range(3):
        assert knows.name("U42") == "Person U42"
        assert knows.name("nobody") == ""
        assert knows.speaks_in("C1", root["ts"])
        assert not knows.speaks_in("C1", slack.writes("hi", "C1", ts=_THREAD)["ts"])
    assert len(slack.called("users.info")) == 2
    assert len(slack.called("conversations.replies")) == 2


def test_among_many_in_a_thread_the_bot_is_found(slack: SlackServer) -> None:
    """Slack names five of those who wrote in a thread, and not always the bot."""
    adapter = app(slack)
    root = slack.writes("hi all", "C1", "A0")
    for number in range(1, 7):
        slack.writes("hi", "C1", f"A{number}", thread_ts=root["ts"])
    assert not adapter.workspaces.own.speaks_in("C1", root["ts"])
    adapter.send(replace(_MESSAGE, chat="C1", thread=root["ts"]))
    assert app(slack).workspaces.own.speaks_in("C1", root["ts"])


def test_where_the_bot_was_called_its_answer_is_looked_for(slack: SlackServer) -> None:
    """Else who writes below the answer within the next minute is not heard."""
    adapter = app(slack)
    knows = adapter.workspaces.own
    root = slack.writes("hi all", "C1", "A0")
    assert not knows.speaks_in("C1", root["ts"])
    knows.called_in("C1", root["ts"])
    assert not knows.speaks_in("C1", root["ts"])
    adapter.send(replace(_MESSAGE, chat="C1", thread=root["ts"]))
    assert knows.speaks_in("C1", root["ts"])


def _send(adapter: SlackAdapter) -> object:
    return adapter.send(_MESSAGE)


def _fetch(adapter: SlackAdapter) -> object:
    return list(adapter.fetch(RemoteFile("a", "", 1, {"id": "F7"}), Bounds(10)))


@pytest.mark.parametrize("act", [_send, _fetch, SlackAdapter.check])
@pytest.mark.parametrize("fault", ["unknown token", "dropped", "nobody there"])
def test_the_token_stands_in_no_error_and_no_log(
    slack: SlackServer,
    caplog: pytest.LogCaptureFixture,
    act: Callable[[SlackAdapter], Any],
    fault: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    more: dict[str, Any] = {}
    token = BOT_TOKEN
    if fault == "nobody there":
        more["api_url"] = "http://127.0.0.1:1/"
    if fault == "unknown token":
        token = "xoxb-this-is-another-one"
        more["secrets"] = {"BOT": token}
    if fault == "dropped":
        slack.bodies.append(None)
    with pytest.raises(ChannelError) as caught:
        act(app(slack, **more))
    chain: list[BaseException] = [caught.value]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    told = [f"{error!r} {error}" for error in chain] + [caplog.text]
    assert not any(token in text for text in told)
