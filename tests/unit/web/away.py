"""A container whose database is away for the first look or two."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from habakkuk.accounts.types import Principal
from habakkuk.bootstrap import Container
from habakkuk.conversations.types import (
    Author,
    ChatKind,
    ChatMessage,
    ChatState,
    Outcome,
    Turn,
)
from habakkuk.core.errors import Unavailable
from habakkuk.events.hub import LiveHub

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
NOBODY = cast("Principal", None)
TURN = Turn(
    id="t",
    session_id="s",
    conversation_id="c",
    user_id="u",
    agent="habakkuk",
    origin="openai",
    reply_to={},
    began=MOMENT,
    ended=MOMENT,
    outcome=Outcome.ANSWERED,
    reply_seq=2,
    created=MOMENT,
)
REPLY = ChatMessage(
    "c", 2, Author.AGENT, ChatKind.MESSAGE, "the answer", {}, ChatState.SENT, "t", MOMENT
)


class _Conversations:
    def __init__(self, failures: int) -> None:
        self._failures = failures

    def _fail(self) -> None:
        if self._failures:
            self._failures -= 1
            raise Unavailable("the database does not answer")

    def turn_with_reply(self, *_: Any) -> tuple[Turn, ChatMessage]:
        self._fail()
        return TURN, REPLY


class _Done:
    def start(self) -> None:
        """Hear nothing."""

    @contextmanager
    def watching(self, _: str) -> Iterator[threading.Event]:
        yield threading.Event()


def container(failures: int) -> Container:
    """Return one whose first `failures` looks fail, at a turn that has ended."""
    parts = SimpleNamespace(
        conversations=_Conversations(failures), done=_Done(), live=LiveHub(None)
    )
    return cast("Container", parts)
