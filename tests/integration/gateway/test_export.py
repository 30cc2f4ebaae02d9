"""/export: the conversation as a file, where it takes place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from habakkuk.conversations.files import files_of
from habakkuk.conversations.store import chat
from habakkuk.conversations.types import Address, ChatKind, ChatMessage, Target
from habakkuk.delivery.types import DeliveryState
from habakkuk.gateway.types import Admitted
from tests.fakes.stack import Stack

# PostgreSQL gives up a lock after 5 s: who waits for one is not through before.
_THROUGH_SECONDS = 3.0


def exported(stack: Stack, asked: Admitted) -> list[str]:
    """Return the files that stand in a conversation, as text."""
    files = [file for row in stack.rows(asked) for file in files_of(row.data)]
    return [stack.container.blobs.get(file.blob).decode() for file in files]


def while_it_is_read(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[bool]:
    """Do something in another thread before the first messages are read; return if it was done."""
    done: list[bool] = []
    read = chat.after_in

    def reads(*given: Any) -> Sequence[ChatMessage]:
        if not done:
            thread = threading.Thread(target=act)
            thread.start()
            thread.join(_THROUGH_SECONDS)
            done.append(not thread.is_alive())
        return read(*given)

    monkeypatch.setattr(chat, "after_in", reads)
    return done


def test_it_is_a_file_of_the_chat(stack: Stack) -> None:
    stack.start()
    stack.ended(stack.say("Tell me of storms: and calm / seas"))
    asked = stack.say("/export")
    row = next(row for row in stack.rows(asked) if row.kind is ChatKind.FILE)
    (file,) = files_of(row.data)
    assert (file.name, file.mime) == ("Tell me of storms and calm seas.md", "text/markdown")
    (written,) = exported(stack, asked)
    assert len(written.encode()) == file.size
    assert "## You, " in written
    assert "echo: Tell me of storms" in written


def test_where_it_goes_outside_the_file_is_delivered_once(stack: Stack) -> None:
    target = Target("shop", "room")
    stack.say("hello")
    for _ in range(2):
        stack.say("/export", remote_id="m1", target=target)
    found = stack.container.deliveries.listed(list(DeliveryState))
    # The file, and the line that says what it is.
    assert [(one.account, one.chat) for one in found] == [("shop", "room")] * 2


def test_other_messages_do_not_wait_for_it(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what comes meanwhile is not in it: it shows the conversation at one moment."""
    stack.say("before")
    done = while_it_is_read(monkeypatch, lambda: stack.say("meanwhile"))
    asked = stack.say("/export")
    assert done == [True]
    (written,) = exported(stack, asked)
    assert "before" in written
    assert "meanwhile" not in written


def test_one_that_is_removed_meanwhile_is_in_no_other(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who removes a conversation wants it gone, and the next at its place is another one."""
    said = stack.say("/whoami")
    address = Address("web", "web", "c")
    done = while_it_is_read(
        monkeypatch, lambda: stack.container.shelf.remove(stack.principal, address)
    )
    asked = stack.say("/export")
    assert done == [True]
    assert asked.session_id != said.session_id
    assert exported(stack, asked) == []


def test_a_repeated_message_reads_nothing_again(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.say("hello")
    first = stack.say("/export", remote_id="m1")
    done = while_it_is_read(monkeypatch, lambda: None)
    again = stack.say("/export", remote_id="m1")
    assert (again.duplicate, again.reply) == (True, first.reply)
    assert done == []


def test_where_nothing_was_said_there_is_nothing(stack: Stack) -> None:
    asked = stack.say("/export")
    assert asked.reply == "There is nothing here to export yet."
    assert exported(stack, asked) == []
