"""What Telegram tells, as the gateway understands it (cases: K45, K85)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.messages import Edit, Event, InboundMessage, OutboundMessage, Press, Source
from habakkuk.channels.telegram import wire

_PAYLOADS = Path(__file__).parents[4] / "payloads" / "telegram"
_READER = wire.Reader(123456789, "hab_bot")
_GROUP = "-1001234567890"


def _events(name: str) -> list[Event]:
    return list(_READER.body((_PAYLOADS / f"{name}.json").read_bytes()))


def _message(name: str) -> InboundMessage:
    (event,) = _events(name)
    assert isinstance(event, InboundMessage)
    return event


def _update(**message: Any) -> Any:
    sender = {"id": 501, "is_bot": False, "first_name": "Alice"}
    chat = {"id": -5, "type": "group", "title": "G"}
    made = {"message_id": 9, "date": 1, "chat": chat, "from": sender} | message
    return {"update_id": 3, "message": made}


def test_a_private_message_is_read() -> None:
    assert _message("private_text") == InboundMessage(
        id="501:77", chat="501", sender="501", text="grüß dich 👋", sender_name="Alice Example"
    )


@pytest.mark.parametrize("name", [path.stem for path in sorted(_PAYLOADS.glob("*.json"))])
def test_what_is_fetched_reads_as_what_is_brought(name: str) -> None:
    fetched = json.loads((_PAYLOADS / f"{name}.json").read_text())
    assert list(_READER.update(fetched)) == _events(name)


def test_the_parts_of_an_album_are_for_whom_its_words_mean() -> None:
    """One part alone has the caption; those of somebody else's album stay out (K84)."""
    reader = wire.Reader(123456789, "hab_bot")
    mention = {"type": "mention", "offset": 0, "length": 8}
    words = {"caption": "@hab_bot what is this?", "caption_entities": [mention]}
    photo = {"photo": [{"file_id": "f", "width": 9, "height": 9}]}

    def addressed(album: str, **more: Any) -> bool:
        (event,) = reader.update(_update(media_group_id=album, **photo, **more))
        assert isinstance(event, InboundMessage)
        return event.addressed

    assert [addressed("7", **words), addressed("7"), addressed("7")] == [True, True, True]
    eve = {"from": {"id": 502, "is_bot": False, "first_name": "Eve"}}
    assert [addressed("8"), addressed("7", **eve)] == [False, False]


@pytest.mark.parametrize(
    ("name", "addressed"),
    [
        ("private_text", True),
        ("group_text", False),
        ("group_mention", True),
        ("group_mention_first", True),
        ("group_mention_of_another", False),
        ("group_text_mention", True),
        ("group_command", True),
        ("group_command_bare", True),
        ("group_command_of_another", False),
        ("group_reply_to_bot", True),
        ("group_reply_to_person", False),
        ("topic_text", False),
    ],
)
def test_a_group_says_whom_it_means(name: str, addressed: bool) -> None:
    message = _message(name)
    assert message.addressed is addressed
    assert message.group is (name != "private_text")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("group_mention", "😀😀 @Hab_Bot hi"),
        ("group_mention_first", "yes"),
        ("group_text_mention", "are you there?"),
        ("group_command", "/stop now"),
        ("group_command_of_another", "/stop@other_bot"),
    ],
)
def test_a_name_at_the_beginning_only_says_whom_it_is_for(name: str, text: str) -> None:
    assert _message(name).text == text


@pytest.mark.parametrize("before", ["", "a ", "😀", "👨‍👩‍👧 ", "मैं ", "🏳️‍🌈é "])
def test_mentions_are_counted_in_utf_16_units(before: str) -> None:
    offset = len(before.encode("utf-16-le")) // 2
    marks = [{"type": "mention", "offset": offset, "length": 8}]
    (message,) = _READER.update(_update(text=f"{before}@hab_bot😀 hi", entities=marks))
    assert isinstance(message, InboundMessage)
    assert message.addressed


def test_a_mention_in_a_caption_counts() -> None:
    marks = [{"type": "mention", "offset": 5, "length": 8}]
    (message,) = _READER.update(
        _update(caption="look @hab_bot", caption_entities=marks, photo=[{"file_id": "x"}])
    )
    assert isinstance(message, InboundMessage)
    assert message.addressed
    assert [file.handle for file in message.files] == [{"file_id": "x"}]


def test_a_name_alone_is_left() -> None:
    marks = [{"type": "mention", "offset": 0, "length": 8}]
    (message,) = _READER.update(_update(text="@hab_bot", entities=marks))
    assert isinstance(message, InboundMessage)
    assert message.text == "@hab_bot"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("/start", "/help"),
        ("/start a-code_1", "/help"),
        ("/started", "/started"),
        ("/start a b", "/start a b"),
    ],
)
def test_the_button_with_which_everybody_begins_asks_for_help(said: str, text: str) -> None:
    (message,) = _READER.update(_update(text=said, chat={"id": 501, "type": "private"}))
    assert isinstance(message, InboundMessage)
    assert message.text == text


def test_entities_beyond_the_text_do_no_harm() -> None:
    marks = [{"type": "mention", "offset": 90, "length": 8}]
    (message,) = _READER.update(_update(text="hi", entities=marks))
    assert isinstance(message, InboundMessage)
    assert not message.addressed


def test_a_topic_is_a_thread_and_a_chain_of_replies_is_none() -> None:
    assert _message("topic_text").thread == "31"
    assert _message("group_reply_to_person").thread == ""


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("private_text", Source.PERSON),
        ("own_message", Source.OWN),
        ("other_bot", Source.BOT),
        ("anonymous_admin", Source.AUTOMATIC),
        ("channel_forward", Source.AUTOMATIC),
    ],
)
def test_it_is_told_who_or_what_wrote(name: str, source: Source) -> None:
    assert _message(name).source is source


@pytest.mark.parametrize(
    ("name", "text", "called", "mime", "size"),
    [
        ("photo_with_caption", "what is this?", "photo.jpg", "image/jpeg", 1200),
        ("album_part", "", "photo.jpg", "image/jpeg", 1200),
        ("voice", "", "voice-message.ogg", "audio/ogg", 9000),
        ("animation", "", "animation.mp4", "video/mp4", None),
    ],
)
def test_files_are_told_with_what_fetches_them(
    name: str, text: str, called: str, mime: str, size: int | None
) -> None:
    message = _message(name)
    (file,) = message.files
    assert (message.text, message.unread) == (text, ())
    assert (file.name, file.mime, file.size) == (called, mime, size)
    assert list(file.handle) == ["file_id"]


def test_of_a_photo_the_largest_size_is_taken() -> None:
    sizes = [{"file_id": f"w{width}", "width": width, "height": 1} for width in (90, 1280, 320)]
    (message,) = _READER.update(_update(photo=sizes))
    assert isinstance(message, InboundMessage)
    assert message.files[0].handle == {"file_id": "w1280"}


def test_a_document_has_its_own_name() -> None:
    sent = {"file_id": "x", "file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 7}
    (message,) = _READER.update(_update(document=sent))
    assert isinstance(message, InboundMessage)
    (file,) = message.files
    assert (file.name, file.mime, file.size) == ("a.pdf", "application/pdf", 7)


@pytest.mark.parametrize(
    ("held", "unread"),
    [
        ({"sticker": {"file_id": "x"}}, "a sticker"),
        ({"location": {"latitude": 1.0}, "venue": {"title": "T"}}, "a place"),
        ({"document": {"file_id": 5}}, "a file"),
        ({"photo": []}, "a photo"),
    ],
)
def test_what_is_no_file_is_named(held: dict[str, Any], unread: str) -> None:
    (message,) = _READER.update(_update(text="look", **held))
    assert isinstance(message, InboundMessage)
    assert (message.files, message.unread) == ((), (unread,))


def test_a_forwarded_message_holds_strangers_words() -> None:
    origin = {"type": "user", "date": 1, "sender_user": {"id": 9, "is_bot": False}}
    for more, outside in (({}, False), ({"forward_origin": origin}, True)):
        (message,) = _READER.update(_update(text="buy now", **more))
        assert isinstance(message, InboundMessage)
        assert message.outside is outside


@pytest.mark.parametrize("said", ["yes", "/yolo on", "/start"])
def test_a_forwarded_message_is_no_command_and_no_answer(said: str) -> None:
    """Who forwards it has not said it; a stranger could have it approve what the agent asks."""
    origin = {"type": "hidden_user", "date": 1, "sender_user_name": "Mallory"}
    (message,) = _READER.update(_update(text=said, forward_origin=origin))
    assert isinstance(message, InboundMessage)
    assert message.text == f"Forwarded:\n{said}"


def test_an_edit_names_the_message_that_it_changes() -> None:
    assert _events("edited_text") == [Edit("501:77", "501", "501", "grüß euch")]


@pytest.mark.parametrize(
    "name", ["edited_by_bot", "edited_location", "member_joined", "poll_answer", "button_inline"]
)
def test_what_nobody_says_is_no_event(name: str) -> None:
    assert _events(name) == []


def test_a_press_tells_who_pressed_what_where() -> None:
    assert _events("button_pressed") == [
        Press(
            id="4382bfdwdsb323b2d9",
            chat=_GROUP,
            sender="501",
            data="hb|n1|0",
            message=f"{_GROUP}:71",
            sender_name="Alice Example",
        )
    ]


def test_a_press_on_a_message_that_telegram_forgot_is_one() -> None:
    (press,) = _events("button_of_old_message")
    assert isinstance(press, Press)
    assert press.message == "501:72"


@pytest.mark.parametrize(
    "change",
    [
        {"message_id": "9"},
        {"chat": {"id": "room"}},
        {"text": ["x"]},
        {"entities": [{"type": "mention", "offset": -1, "length": 8}]},
        {"from": {"first_name": "Alice"}},
    ],
)
def test_a_message_of_another_shape_is_unreadable(change: dict[str, Any]) -> None:
    with pytest.raises(WebhookUnreadable):
        _READER.update(_update(**{"text": "hi"} | change))


@pytest.mark.parametrize("update", [None, [], "x", {}, {"update_id": "3"}, {"update_id": 1.5}])
def test_what_is_no_update_has_no_number(update: object) -> None:
    assert wire.update_number(update) is None


@pytest.mark.parametrize(
    ("known", "number"),
    [("42:7", 7), ("43:7", None), ("42:", None), (None, None), ("42:x", None), ("7", None)],
)
def test_a_number_counts_in_its_own_chat_only(known: str | None, number: int | None) -> None:
    assert wire.message_number(known, "42") == number


@pytest.mark.parametrize(("thread", "more"), [("", {}), ("31", {"message_thread_id": 31})])
def test_a_thread_is_a_topic(thread: str, more: dict[str, int]) -> None:
    message = OutboundMessage("k", "-5", thread, "x", "answer")
    assert wire.write_target(message) == {"chat_id": "-5", **more}
