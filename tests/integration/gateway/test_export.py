"""/export: the conversation as a file, where it takes place."""

from __future__ import annotations

from habakkuk.conversations.files import files_of
from habakkuk.conversations.types import ChatKind, Target
from habakkuk.delivery.types import DeliveryState
from tests.fakes.stack import Stack


def test_it_is_a_file_of_the_chat(stack: Stack) -> None:
    stack.start()
    stack.ended(stack.say("Tell me of storms: and calm / seas"))
    asked = stack.say("/export")
    row = next(row for row in stack.rows(asked) if row.kind is ChatKind.FILE)
    (file,) = files_of(row.data)
    assert (file.name, file.mime) == ("Tell me of storms and calm seas.md", "text/markdown")
    with stack.container.blobs.open(file.blob) as opened:
        written = opened.read().decode()
    assert "## You, " in written
    assert "echo: Tell me of storms" in written


def test_where_it_goes_outside_the_file_is_delivered_once(stack: Stack) -> None:
    target = Target("shop", "room")
    for _ in range(2):
        stack.say("/export", remote_id="m1", target=target)
    found = stack.container.deliveries.listed(list(DeliveryState))
    # The file, and the line that says what it is.
    assert [(one.account, one.chat) for one in found] == [("shop", "room")] * 2
