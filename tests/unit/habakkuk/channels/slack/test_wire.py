"""What Slack tells, as the gateway understands it (cases: K11, K60, K85)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.messages import (
    Edit,
    Event,
    InboundMessage,
    Press,
    RemoteFile,
    Removal,
    Source,
)
from habakkuk.channels.slack import bodies, wire

_PAYLOADS = Path(__file__).parents[4] / "payloads" / "slack"
_TEAM, _BOT, _MARY = "T061EG9R6", "U0LAN0Z89", "U061F7AUR"
_TS = "1515449522.000016"
_IN_CHANNEL = f"{_TEAM}:C0LAN2Q65:{_TS}"
_SPOKEN_IN = "1515449300.000001"


class _Known:
    """A bot that has written in one thread."""

    def bot(self) -> str:
        return _BOT

    def name(self, user: str) -> str:
        return {_MARY: "Mary", _BOT: "Habakkuk"}.get(user, "")

    def speaks_in(self, channel: str, thread: str) -> bool:
        return (channel, thread) == ("C0LAN2Q65", _SPOKEN_IN)

    def called_in(self, channel: str, thread: str) -> None:
        """Need no note."""

    def written(self, own: str) -> str:
        return f"{self.team}/{own}" if self.team else own

    def __init__(self, team: str = "") -> None:
        self.team = team


_READER = wire.Reader(lambda _team: _Known())


def _payload(name: str) -> Any:
    return json.loads((_PAYLOADS / f"{name}.json").read_text())


def _events(name: str) -> Sequence[Event]:
    return _READER.events(_payload(name))


def _message(name: str) -> InboundMessage:
    (event,) = _events(name)
    assert isinstance(event, InboundMessage)
    return event


def _written(text: str, **more: Any) -> InboundMessage:
    payload = _payload("im_text")
    payload["event"] |= {"text": text, **more}
    (event,) = _READER.events(payload)
    assert isinstance(event, InboundMessage)
    return event


def test_a_direct_message_is_read() -> None:
    assert _message("im_text") == InboundMessage(
        id=f"{_TEAM}:D0PNCRP9N:{_TS}",
        chat="D0PNCRP9N",
        sender=_MARY,
        text="grüß dich 👋 <b>&",
        sender_name="Mary",
    )


def _passed_on(beside: str, **more: Any) -> InboundMessage:
    """Return a message with which somebody passes another on."""
    shared = {"is_share": True, "author_name": "Eve", "fallback": "Eve: look"} | more
    look = {"from_url": "https://example.com", "text": "what a page says"}
    payload = _payload("im_text")
    payload["event"] |= {"text": beside, "blocks": [], "attachments": [shared, look]}
    (event,) = _READER.events(payload)
    assert isinstance(event, InboundMessage)
    return event


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", "Forwarded:\nlook, @Mary & all"),
        ("what is this?", "what is this?\n\nForwarded:\nlook, @Mary & all"),
    ],
)
def test_what_somebody_passes_on_is_read_and_is_not_their_own(text: str, read: str) -> None:
    """Slack leaves the text empty where nothing is written beside it."""
    message = _passed_on(text, text=f"look, <@{_MARY}> &amp; all")
    assert (message.text, message.outside, message.unread) == (read, True, ())


@pytest.mark.parametrize("held", [{"text": ""}, {"text": "look", "files": [{"id": "F1"}]}])
def test_of_what_is_passed_on_nothing_is_left_out_unsaid(held: dict[str, Any]) -> None:
    assert _passed_on("", **held).unread == ("what a forwarded message holds",)


def test_a_message_that_comes_as_two_events_is_one() -> None:
    assert _message("app_mention") == _message("channel_mention")


@pytest.mark.parametrize(
    ("name", "addressed"),
    [
        ("im_text", True),
        ("channel_text", False),
        ("channel_mention", True),
        ("app_mention", True),
        ("channel_mention_inside", True),
        ("channel_mention_of_another", False),
        ("thread_below_bot", True),
        ("thread_below_person", False),
        ("thread_with_bot", True),
        ("thread_broadcast", True),
        ("mpim_mention", True),
    ],
)
def test_a_channel_says_whom_it_means(name: str, addressed: bool) -> None:
    message = _message(name)
    assert message.addressed is addressed
    assert message.group is (name != "im_text")


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ("im_text", ""),
        ("im_thread", "1515449500.000001"),
        # An answer opens the thread.
        ("channel_mention", _TS),
        ("thread_below_bot", "1515449500.000001"),
        ("thread_broadcast", "1515449400.000001"),
    ],
)
def test_an_answer_in_a_channel_stands_in_a_thread(name: str, thread: str) -> None:
    assert _message(name).thread == thread


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("im_text", Source.PERSON),
        ("own_message", Source.OWN),
        ("other_bot", Source.BOT),
        ("bot_message", Source.BOT),
        ("slackbot", Source.AUTOMATIC),
    ],
)
def test_it_is_told_who_or_what_wrote(name: str, source: Source) -> None:
    assert _message(name).source is source


def test_a_bot_without_a_user_goes_by_its_own_id() -> None:
    assert _message("bot_message").sender == "BB12033"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (f"<@{_BOT}> hi", "hi"),
        (f"<@{_BOT}|habakkuk>: hi", "hi"),
        (f"  <@{_BOT}>,\nhi", "hi"),
        (f"<@{_BOT}> /stop now", "/stop now"),
        (f"<@{_BOT}>", "@Habakkuk"),
        (f"ask <@{_BOT}>", "ask @Habakkuk"),
        (f"<@{_MARY}> look", "@Mary look"),
        ("<@U9> look", "@U9 look"),
        ("<@U9|tom> look", "@tom look"),
        ("see <#C024BE7LR|general> and <#C1>", "see #general and #C1"),
        ("<!here> <!channel|@channel>", "@here @channel"),
        ("<!subteam^S1|@team> <!subteam^S2>", "@team @S2"),
        ("<!date^1392734382^Posted {date_num}|Posted 2014-02-18>", "Posted 2014-02-18"),
        ("<https://e.example/?a=1&amp;b=2>", "https://e.example/?a=1&b=2"),
        ("<https://e.example/|e.example>", "https://e.example/"),
        ("<https://e.example|this page>", "this page (https://e.example)"),
        ("<mailto:bob@e.example|bob@e.example>", "bob@e.example"),
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("1 &lt; 2 and 3 &gt; 2", "1 < 2 and 3 > 2"),
        ("&lt;@U9&gt;", "<@U9>"),
        ("*bold* _it_ `code`", "*bold* _it_ `code`"),
    ],
)
def test_what_slack_escapes_is_read_as_it_was_written(written: str, text: str) -> None:
    assert _written(written).text == text


def test_a_forwarded_message_is_read_as_strangers_words() -> None:
    """It comes as an attachment of a message that may say nothing itself."""
    shared = {
        "is_msg_unfurl": True,
        "is_share": True,
        "author_id": "U9",
        "channel_id": "C9",
        "fallback": "[July 6th, 2026 2:02 PM] mallory: buy &lt;now&gt;",
        "text": f"buy &lt;now&gt; <@{_BOT}>",
        "footer": "Slack Conversation",
    }
    alone = _written("", attachments=[shared])
    assert (alone.text, alone.outside) == ("Forwarded:\nbuy <now> @Habakkuk", True)
    beside = _written("what is this?", attachments=[shared, {"is_share": True, "files": []}])
    assert beside.text == "what is this?\n\nForwarded:\nbuy <now> @Habakkuk"
    assert beside.unread == ("what a forwarded message holds",)


def test_a_look_at_a_link_is_nothing_that_somebody_said() -> None:
    look = {"from_url": "https://example.com", "title": "Example", "text": "A page.", "id": 1}
    told = _written("see <https://example.com>", attachments=[look, "nonsense"])
    assert (told.text, told.outside) == ("see https://example.com", False)


def test_a_forwarded_mention_means_nobody() -> None:
    payload = _payload("channel_text")
    payload["event"]["attachments"] = [{"is_share": True, "text": f"<@{_BOT}> do it"}]
    (message,) = _READER.events(payload)
    assert isinstance(message, InboundMessage)
    assert not message.addressed


def test_a_message_asks_for_few_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody in a channel can write thousands of mentions, and Slack is asked before we answer."""
    asked: list[str] = []

    def name(_: _Known, user: str) -> str:
        asked.append(user)
        return ""

    monkeypatch.setattr(_Known, "name", name)
    people = [f"U0000{n:04}" for n in range(1000)]
    text = _written(" ".join(f"<@{user}>" for user in people)).text
    assert text == " ".join(f"@{user}" for user in people)
    # One of them is who wrote it.
    assert len(set(asked)) <= 21


def test_files_are_known_by_their_ids_and_no_address_is_kept() -> None:
    message = _message("file_share")
    handle = {"id": "F2147483862"}
    assert message.files == (RemoteFile("file.htm", "text/html", 123, handle),)
    assert message.unread == ("a file that does not lie at Slack",)


def test_a_file_without_a_word_is_a_message() -> None:
    message = _message("voice_clip")
    assert (message.text, message.files[0].mime) == ("", "audio/mp4")


@pytest.mark.parametrize(
    "name",
    ["channel_join", "changed_by_slack", "changed_by_bot", "member_joined", "url_verification"],
)
def test_what_nobody_wrote_is_passed_over(name: str) -> None:
    assert list(_events(name)) == []


def test_an_edit_names_the_message_that_it_changes() -> None:
    name = f"{_TEAM}:D0PNCRP9N:{_TS}"
    assert _events("changed") == [Edit(name, "D0PNCRP9N", _MARY, "the right word")]


def test_an_edit_of_what_stands_beside_a_passed_on_message_keeps_that() -> None:
    payload = _payload("changed")
    payload["event"]["message"]["attachments"] = [{"is_share": True, "text": "look"}]
    (edit,) = _READER.events(payload)
    assert isinstance(edit, Edit)
    assert edit.text == "the right word\n\nForwarded:\nlook"


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ("deleted", "1515449400.000001"),
        # With answers below it a message leaves a note behind.
        ("tombstone", _TS),
    ],
)
def test_a_deletion_names_the_message_that_is_gone(name: str, thread: str) -> None:
    assert _events(name) == [Removal(_IN_CHANNEL, "C0LAN2Q65", _MARY, thread)]


def test_a_press_names_its_message_and_its_own_moment() -> None:
    message = f"{_TEAM}:C0LAN2Q65:1548261231.000200"
    assert _events("block_actions") == [
        Press(
            id=f"{message}:1548426417.840180:{_MARY}",
            chat="C0LAN2Q65",
            sender=_MARY,
            data="hb|abc|0",
            message=message,
            thread="1548261000.000100",
            sender_name="mary",
        )
    ]


def test_a_press_of_something_else_is_passed_over() -> None:
    payload = _payload("block_actions")
    payload["actions"][0] |= {"type": "static_select", "value": None}
    assert list(_READER.events(payload)) == []


_SLASH = {
    "command": "/queue",
    "text": "look at <https://e.example> &amp; go",
    "user_id": _MARY,
    "user_name": "mary",
    "channel_id": "D0PNCRP9N",
    "channel_name": "directmessage",
    "team_id": _TEAM,
    "trigger_id": "13345224609.738474920.8088930838d88f008e0",
    "response_url": "https://hooks.slack.com/commands/1234/5678",
}


def test_a_slash_command_is_what_it_says() -> None:
    (message,) = _READER.events(bodies.decoded(urlencode(_SLASH).encode()))
    assert message == InboundMessage(
        id=f"{_TEAM}:D0PNCRP9N:command-{_SLASH['trigger_id']}",
        chat="D0PNCRP9N",
        sender=_MARY,
        text="/queue look at https://e.example & go",
        sender_name="mary",
    )


@pytest.mark.parametrize("name", [path.stem for path in sorted(_PAYLOADS.glob("*.json"))])
def test_what_a_request_brings_reads_as_what_the_line_brings(name: str) -> None:
    raw = (_PAYLOADS / f"{name}.json").read_bytes()
    assert _READER.events(bodies.decoded(raw)) == _events(name)


def test_what_is_pressed_comes_in_a_form() -> None:
    body = urlencode({"payload": json.dumps(_payload("block_actions"))}).encode()
    assert _READER.events(bodies.decoded(body)) == _events("block_actions")


@pytest.mark.parametrize(
    "body",
    [
        b"payload=",
        b"payload=[]",
        b"payload=%7B",
        b"&".join(b"a=1" for _ in range(200)),
        b"command=stop&trigger_id=1&user_id=U1&channel_id=D1",
        b'{"type": "event_callback", "event": "x"}',
        b'{"type": "event_callback", "event": {"type": "message", "ts": 5}, "team_id": "T"}',
        b'{"type": "block_actions"}',
    ],
)
def test_what_makes_no_sense_is_unreadable(body: bytes) -> None:
    with pytest.raises(WebhookUnreadable):
        _READER.events(bodies.decoded(body))


def test_a_history_reads_as_events_do() -> None:
    history = [
        {"type": "message", "user": _MARY, "text": "one", "ts": "1.000001", "team": _TEAM},
        {"type": "message", "user": _BOT, "bot_id": "B1", "text": "two", "ts": "1.000002"},
        {"type": "message", "subtype": "channel_topic", "user": _MARY, "ts": "1.000003"},
        {"type": "message", "ts": 4},
        {"type": "message", "user": _MARY, "text": "three", "ts": "1.000005"},
    ]
    found = [one for one in _READER.past(_TEAM, "D1", history) if isinstance(one, InboundMessage)]
    assert [(one.id, one.source) for one in found] == [
        (f"{_TEAM}:D1:1.000001", Source.PERSON),
        (f"{_TEAM}:D1:1.000002", Source.OWN),
        (f"{_TEAM}:D1:1.000005", Source.PERSON),
    ]


def test_another_workspace_has_chats_and_people_of_its_own() -> None:
    """Slack's ids are good within a workspace."""
    reader = wire.Reader(_Known)
    (message,) = reader.events(_payload("file_share"))
    assert isinstance(message, InboundMessage)
    assert (message.chat, message.sender) == (f"{_TEAM}/D0PNCRP9N", f"{_TEAM}/{_MARY}")
    assert message.files[0].handle == {"id": "F2147483862", "team": _TEAM}
    for name in ("changed", "deleted", "block_actions"):
        (event,) = reader.events(_payload(name))
        assert (event.chat[:10], event.sender) == (f"{_TEAM}/", f"{_TEAM}/{_MARY}")
    (command,) = reader.events(_SLASH)
    assert (command.chat, command.sender) == (f"{_TEAM}/D0PNCRP9N", f"{_TEAM}/{_MARY}")


@pytest.mark.parametrize(
    ("known", "ts"),
    [
        ("T:D1:5.1", "5.1"),
        (":D1:5.1", "5.1"),
        ("T:D2:5.1", None),
        ("T:D1:", None),
        (None, None),
        ("T:D1:command-5.5.a", None),
    ],
)
def test_a_time_stamp_counts_in_its_own_chat_only(known: str | None, ts: str | None) -> None:
    assert wire.message_ts(known, "D1") == ts
