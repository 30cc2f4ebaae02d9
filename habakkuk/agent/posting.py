"""What tools say in the chat of their turn: a row of it, and a delivery where it goes outside.

The row is known by the call that wrote it, so a call that a crash repeats says nothing twice. It
is queued with its conversation's other deliveries, before the answer of its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from habakkuk.blobs.incoming import MOST_BYTES
from habakkuk.channels.contract import Feature, Sender
from habakkuk.channels.registry import Channels, Line
from habakkuk.conversations.store import addresses, chat, turns
from habakkuk.conversations.types import Address, Author, ChatState, NewChatMessage, Target, Turn
from habakkuk.core.errors import ConfigurationError, ToolError
from habakkuk.core.ids import derive
from habakkuk.db.engine import Database
from habakkuk.events.hub import LiveHub
from habakkuk.jobs.types import Queue
from habakkuk.tools.posting import Place, Post

# Conversations that are shown by Habakkuk itself: what stands in them is all there is.
_LOCAL = "web"
_NO_CHAT = "this conversation has no chat to send it to; tell the user in your answer instead"
_CLOSED = "the chat's account is not set up any more, so nothing can be sent there"
_OVER = "the turn has ended meanwhile, so nothing more is sent"


def queue_of(line: Line) -> str:
    """Return who sends for an account: any worker, or the process that holds its connection."""
    if line.adapter.manifest.sends_from is Sender.INTAKE:
        return f"{Queue.DELIVERIES}.{line.name}"
    return str(Queue.DELIVERIES)


class Posts:
    """The desk at which tools have things said."""

    def __init__(
        self,
        database: Database,
        channels: Channels,
        put: Callable[[BinaryIO, str], str],
        live: LiveHub,
    ) -> None:
        """`put` stores a file of a type and returns their id; `live` tells who looks on."""
        self._database = database
        self._channels = channels
        self._put = put
        self._live = live

    def place(self, turn_id: str) -> Place:
        """Return the chat of a turn. Raises ToolError where there is none."""
        turn, address = self._turn(turn_id)
        target = self._target(turn, address)
        if target is None:
            return Place(takes_files=True, file_limit=MOST_BYTES)
        adapter = self._line(target.account).adapter
        if Feature.FILES in adapter.manifest.features:
            return Place(takes_files=True, file_limit=adapter.file_limit)
        return Place(takes_files=False, file_limit=MOST_BYTES)

    def store(self, source: BinaryIO, mime: str) -> str:
        """Keep a file and return its blob. Raises ToolError."""
        try:
            return self._put(source, mime)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise ToolError(f"the file could not be kept: {reason}") from error

    def post(self, turn_id: str, call_id: str, post: Post) -> None:
        """Say something, once a call however often it is asked. Raises ToolError.

        Nothing once the turn has ended: a call that was given up, or whose worker was taken for
        dead, may come to this late, and people have its answer, or “Stopped.”, by then.
        """
        turn, address = self._turn(turn_id)
        row = NewChatMessage(
            Author.AGENT,
            post.text,
            ChatState.SENT,
            post.kind,
            post.data,
            account=address.account,
            remote_id=derive("post", turn.session_id, call_id),
            turn_id=turn.id,
            target=self._target(turn, address),
        )
        with self._database.transaction() as work:
            # Whoever ends the turn locks it, too.
            addresses.lock_by_id(work, turn.conversation_id)
            if (now := turns.get_in(work, turn.id)) is None or now.ended is not None:
                raise ToolError(_OVER)
            chat.add(work, turn.conversation_id, row)
        self._live.queue_changed(turn.session_id)

    def _turn(self, turn_id: str) -> tuple[Turn, Address]:
        turn = turns.get(self._database, turn_id)
        found = addresses.get(self._database, turn.conversation_id) if turn is not None else None
        if turn is None or found is None:
            raise ToolError(_NO_CHAT)
        return turn, found.address

    def _target(self, turn: Turn, address: Address) -> Target | None:
        """Return where it goes outside: where the turn's answer goes, else the session's chat.

        None for a conversation that is shown here. Raises ToolError for one that is shown nowhere.
        """
        if turn.target is not None or address.channel == _LOCAL:
            return turn.target
        if address.account not in self._channels.names:
            raise ToolError(_NO_CHAT)
        line = self._line(address.account)
        if line.channel != address.channel or not line.adapter.sends:
            raise ToolError(_NO_CHAT)
        return Target(line.name, address.chat, address.thread, None, queue_of(line))

    def _line(self, account: str) -> Line:
        try:
            line = self._channels.line(account)
        except ConfigurationError as error:
            raise ToolError(_CLOSED) from error
        if line is None:
            raise ToolError(_CLOSED)
        return line
