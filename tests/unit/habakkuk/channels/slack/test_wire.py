"""What Slack tells, as the gateway understands it (cases: K11, K60, K85)."""

from __future__ import annotations

from typing import Any

import pytest

from habakkuk.channels.messages import (
    Edit,
    InboundMessage,
    RemoteFile,
    Removal,
    Source,
)
from habakkuk.channels.slack import wire
from tests.unit.habakkuk.channels.slack.telling import (
    BOT,
    IN_CHANNEL,
    MARY,
    READER,
    SLASH,
    TEAM,
    TS,
    Known,
    events_of,
    message_of,
    payload_of,
    written_in,
)


def test_a_direct_message_is_read() -> None:
    assert message_of("im_text") == InboundMessage(
        id=f"{TEAM}:D0PNCRP9N:{TS}",
        chat="D0PNCRP9N",
        sender=MARY,
        text="grüß dich 👋 <b>&",
        sender_name="Mary",
    )


def _passed_on(beside: str, **more: Any) -> InboundMessage:
    """Return a message with which somebody passes another on."""
    shared = {"is_share": True, "author_name": "Eve", "fallback": "Eve: look"} | more
    look = {"from_url": "https://example.com", "text": "what a page says"}
    payload = payload_of("im_text")
    payload["event"] |= {"text": beside, "blocks": [], "attachments": [shared, look]}
    (event,) = READER.events(payload)
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
    message = _passed_on(text, text=f"look, <@{MARY}> &amp; all")
    assert (message.text, message.outside, message.unread) == (read, True, ())


@pytest.mark.parametrize("held", [{"text": ""}, {"text": "look", "files": [{"id": "F1"}]}])
def test_of_what_is_passed_on_nothing_is_left_out_unsaid(held: dict[str, Any]) -> None:
    assert _passed_on("", **held).unread == ("what a forwarded message holds",)


def test_a_message_that_comes_as_two_events_is_one() -> None:
    assert message_of("app_mention") == message_of("channel_mention")


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
    message = message_of(name)
    assert message.addressed is addressed
    assert message.group is (name != "im_text")


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ("im_text", ""),
        ("im_thread", "1515449500.000001"),
        # An answer opens the thread.
        ("channel_mention", TS),
        ("thread_below_bot", "1515449500.000001"),
        ("thread_broadcast", "1515449400.000001"),
    ],
)
def test_an_answer_in_a_channel_stands_in_a_thread(name: str, thread: str) -> None:
    assert message_of(name).thread == thread


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
    assert message_of(name).source is source


def test_a_bot_without_a_user_goes_by_its_own_id() -> None:
    assert message_of("bot_message").sender == "BB12033"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (f"<@{BOT}> hi", "hi"),
        (f"<@{BOT}|habakkuk>: hi", "hi"),
        (f"  <@{BOT}>,\nhi", "hi"),
        (f"<@{BOT}> /stop now", "/stop now"),
        (f"<@{BOT}>", "@Habakkuk"),
        (f"ask <@{BOT}>", "ask @Habakkuk"),
        (f"<@{MARY}> look", "@Mary look"),
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
    assert written_in(written).text == text


def test_a_forwarded_message_is_read_as_strangers_words() -> None:
    """It comes as an attachment of a message that may say nothing itself."""
    shared = {
        "is_msg_unfurl": True,
        "is_share": True,
        "author_id": "U9",
        "channel_id": "C9",
        "fallback": "[July 6th, 2026 2:02 PM] mallory: buy &lt;now&gt;",
        "text": f"buy &lt;now&gt; <@{BOT}>",
        "footer": "Slack Conversation",
    }
    alone = written_in("", attachments=[shared])
    assert (alone.text, alone.outside) == ("Forwarded:\nbuy <now> @Habakkuk", True)
    beside = written_in("what is this?", attachments=[shared, {"is_share": True, "files": []}])
    assert beside.text == "what is this?\n\nForwarded:\nbuy <now> @Habakkuk"
    assert beside.unread == ("what a forwarded message holds",)


def test_a_look_at_a_link_is_nothing_that_somebody_said() -> None:
    look = {"from_url": "https://example.com", "title": "Example", "text": "A page.", "id": 1}
    told = written_in("see <https://example.com>", attachments=[look, "nonsense"])
    assert (told.text, told.outside) == ("see https://example.com", False)


def test_a_forwarded_mention_means_nobody() -> None:
    payload = payload_of("channel_text")
    payload["event"]["attachments"] = [{"is_share": True, "text": f"<@{BOT}> do it"}]
    (message,) = READER.events(payload)
    assert isinstance(message, InboundMessage)
    assert not message.addressed


def test_a_message_asks_for_few_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody in a channel can write thousands of mentions, and Slack is asked before we answer."""
    asked: list[str] = []

    def name(_: Known, user: str) -> str:
        asked.append(user)
        return ""

    monkeypatch.setattr(Known, "name", name)
    people = [f"U0000{n:04}" for n in range(1000)]
    text = written_in(" ".join(f"<@{user}>" for user in people)).text
    assert text == " ".join(f"@{user}" for user in people)
    # One of them is who wrote it.
    assert len(set(asked)) <= 21


def test_files_are_known_by_their_ids_and_no_address_is_kept() -> None:
    message = message_of("file_share")
    handle = {"id": "F2147483862"}
    assert message.files == (RemoteFile("file.htm", "text/html", 123, handle),)
    assert message.unread == ("a file that does not lie at Slack",)


def test_a_file_without_a_word_is_a_message() -> None:
    message = message_of("voice_clip")
    assert (message.text, message.files[0].mime) == ("", "audio/mp4")


@pytest.mark.parametrize(
    "name",
    ["channel_join", "changed_by_slack", "changed_by_bot", "member_joined", "url_verification"],
)
def test_what_nobody_wrote_is_passed_over(name: str) -> None:
    assert list(events_of(name)) == []


def test_an_edit_names_the_message_that_it_changes() -> None:
    name = f"{TEAM}:D0PNCRP9N:{TS}"
    assert events_of("changed") == [Edit(name, "D0PNCRP9N", MARY, "the right word")]


def test_an_edit_of_what_stands_beside_a_passed_on_message_keeps_that() -> None:
    payload = payload_of("changed")
    payload["event"]["message"]["attachments"] = [{"is_share": True, "text": "look"}]
    (edit,) = READER.events(payload)
    assert isinstance(edit, Edit)
    assert edit.text == "the right word\n\nForwarded:\nlook"


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ("deleted", "1515449400.000001"),
        # With answers below it a message leaves a note behind.
        ("tombstone", TS),
    ],
)
def test_a_deletion_names_the_message_that_is_gone(name: str, thread: str) -> None:
    assert events_of(name) == [Removal(IN_CHANNEL, "C0LAN2Q65", MARY, thread)]


def test_a_history_reads_as_events_do() -> None:
    history = [
        {"type": "message", "user": MARY, "text": "one", "ts": "1.000001", "team": TEAM},
        {"type": "message", "user": BOT, "bot_id": "B1", "text": "two", "ts": "1.000002"},
        {"type": "message", "subtype": "channel_topic", "user": MARY, "ts": "1.000003"},
        {"type": "message", "ts": 4},
        {"type": "message", "user": MARY, "text": "three", "ts": "1.000005"},
    ]
    found = [one for one in READER.past(TEAM, "D1", history) if isinstance(one, InboundMessage)]
    assert [(one.id, one.source) for one in found] == [
        (f"{TEAM}:D1:1.000001", Source.PERSON),
        (f"{TEAM}:D1:1.000002", Source.OWN),
        (f"{TEAM}:D1:1.000005", Source.PERSON),
    ]


def test_another_workspace_has_chats_and_people_of_its_own() -> None:
    """Slack's ids are good within a workspace."""
    reader = wire.Reader(Known)
    (message,) = reader.events(payload_of("file_share"))
    assert isinstance(message, InboundMessage)
    assert (message.chat, message.sender) == (f"{TEAM}/D0PNCRP9N", f"{TEAM}/{MARY}")
    assert message.files[0].handle == {"id": "F2147483862", "team": TEAM}
    for name in ("changed", "deleted", "block_actions"):
        (event,) = reader.events(payload_of(name))
        assert (event.chat[:10], event.sender) == (f"{TEAM}/", f"{TEAM}/{MARY}")
    (command,) = reader.events(SLASH)
    assert (command.chat, command.sender) == (f"{TEAM}/D0PNCRP9N", f"{TEAM}/{MARY}")


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
