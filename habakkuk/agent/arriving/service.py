"""Fetch the files of messages before their turn takes them (cases: K2, K54).

A message is stored at once with what its platform needs to hand its files out, so no intake waits
for a download. The turn that would take it has them fetched first. Files are stored by their
content, in the blobs and in the workspace's inbox alike: a run that dies in between has cost a
download. What cannot be had is named to the model, and to the person by a notice.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from habakkuk.agent.arriving import inbox
from habakkuk.blobs.incoming import MOST_BYTES
from habakkuk.channels.contract import Bounds, NotFetched
from habakkuk.channels.messages import RemoteFile
from habakkuk.channels.registry import Channels, Line
from habakkuk.conversations.files import FILES, Attached, Awaited
from habakkuk.conversations.store import addresses, chat, taints, turns
from habakkuk.conversations.store.hotpath import Taken
from habakkuk.conversations.store.taints import Touched
from habakkuk.conversations.types import (
    UNREAD,
    Author,
    ChatKind,
    ChatState,
    NewChatMessage,
    Said,
    Turn,
)
from habakkuk.core.errors import ConfigurationError, ToolError
from habakkuk.core.log import get_logger
from habakkuk.core.text import size_text
from habakkuk.jobs.contract import JobContext
from habakkuk.llm.media.sniff import SHOWN, sniff

_log = get_logger("agent.arriving")
# Between tries, in seconds; a platform that wants to be left alone for longer keeps its file.
_PAUSES = (1.0, 4.0)
_LONGEST_PAUSE = 30.0
# All files of a turn together: people wait for its answer, not for ever for what came with them.
_SECONDS = 300.0
_MIME = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*")
_UNKNOWN = "application/octet-stream"
_TOO_LARGE = f"it is larger than the {size_text(MOST_BYTES)} that I take"
_LOST = "I could not take {what}."


class Arrivals:
    """Fetches what messages await."""

    def __init__(
        self,
        channels: Channels,
        put: Callable[[bytes, str], str],
        workspace: Callable[[str], Path],
        pauses: Sequence[float] = _PAUSES,
    ) -> None:
        """`put` stores bytes of a type and returns their id; `workspace` is that of an agent."""
        self._channels = channels
        self._put = put
        self._workspace = workspace
        self._pauses = pauses

    def fetch(self, context: JobContext, taken: Taken) -> None:
        """Fetch what the messages of a turn await, which is not taken yet, and note it with them.

        Raises Interrupted and DatabaseAway; then the turn comes back and goes on.
        """
        bounds = Bounds(MOST_BYTES, context.interrupt, time.monotonic() + _SECONDS)
        for said in taken.messages:
            if said.awaited:
                self._settle(context, taken.turn, said, bounds)

    def _settle(self, context: JobContext, turn: Turn, said: Said, bounds: Bounds) -> None:
        mark = partial(self._mark, context, turn) if said.outside else _no_mark
        found = [self._got(turn, one, bounds, mark) for one in said.awaited]
        files = [one for one in found if isinstance(one, Attached)]
        lost = [one for one in found if isinstance(one, str)]
        context.failpoints.hit("files.fetch.after")
        change: dict[str, Any] = {}
        if all_files := [asdict(file) for file in (*said.files, *files)]:
            change[FILES] = all_files
        if unread := [*said.unread, *lost]:
            change[UNREAD] = unread
        with context.database.transaction() as work:
            addresses.lock_by_id(work, turn.conversation_id)
            context.guard(work)
            if not chat.attach(work, turn.conversation_id, said.seq, change):
                # It was withdrawn meanwhile.
                return
            if lost:
                chat.add(work, turn.conversation_id, _notice(turn, lost))

    def _got(
        self, turn: Turn, awaited: Awaited, bounds: Bounds, mark: Callable[[str], None]
    ) -> Attached | str:
        """Return the file as it is stored, or what cannot be had and why."""
        try:
            data = self._fetched(awaited, bounds)
            return self._stored(turn, awaited, data, mark)
        except (NotFetched, ToolError) as error:
            _log.warning("a file is not taken", account=awaited.account, reason=str(error))
            return f"the file {awaited.name or 'without a name'} ({error})"

    def _mark(self, context: JobContext, turn: Turn, path: str) -> None:
        """Note that strangers' words are about to lie in a file: a crash leaves a mark too many."""
        whole = str(self._workspace(turn.agent) / path)
        with context.database.transaction() as work:
            context.guard(work)
            turns.taint(work, turn.id)
            taints.mark(work, Touched(turn.agent, turn.id, [whole]))

    def _stored(
        self, turn: Turn, awaited: Awaited, data: bytes, mark: Callable[[str], None]
    ) -> Attached:
        mime = _mime(data, awaited.mime)
        blob = self._put(data, mime)
        name = inbox.file_name(awaited.name, mime, blob)
        try:
            path = inbox.put(self._workspace(turn.agent), name, data, mark)
        except ToolError:
            if mime not in SHOWN:
                raise
            # The model sees it all the same.
            return Attached(blob, mime, awaited.name or None, len(data))
        return Attached(blob, mime, awaited.name or None, len(data), path)

    def _fetched(self, awaited: Awaited, bounds: Bounds) -> bytes:
        if awaited.size is not None and awaited.size > MOST_BYTES:
            raise NotFetched(_TOO_LARGE)
        line = self._line(awaited.account)
        file = RemoteFile(awaited.name, awaited.mime, awaited.size, awaited.handle)
        for pause in self._pauses:
            try:
                return _read(line, file, bounds)
            except NotFetched as error:
                wait = max(pause, error.retry_after or 0.0)
                if not error.retryable or wait > min(_LONGEST_PAUSE, bounds.left()):
                    raise
            bounds.interrupt.wait(wait)
            bounds.interrupt.check()
        return _read(line, file, bounds)

    def _line(self, account: str) -> Line:
        try:
            line = self._channels.line(account)
        except ConfigurationError as error:
            raise NotFetched("its account is not set up any more") from error
        if line is None:
            raise NotFetched("its account is not set up any more")
        return line


def _no_mark(_path: str) -> None:
    """Leave a file of people who may write here unmarked."""


def _read(line: Line, file: RemoteFile, bounds: Bounds) -> bytes:
    # What comes slowly, and many at once, lies on the disk meanwhile.
    with tempfile.TemporaryFile() as kept:
        for piece in line.adapter.fetch(file, bounds):
            bounds.interrupt.check()
            bounds.left()
            if kept.tell() + len(piece) > bounds.limit:
                raise NotFetched(_TOO_LARGE)
            kept.write(piece)
        kept.seek(0)
        return kept.read()


def _mime(data: bytes, declared: str) -> str:
    """Return what a file is; what its bytes do not say, its platform says of it."""
    found = sniff(data)
    if found is not None:
        return found
    named = declared.partition(";")[0].strip().lower()
    # What is called an image and is none would be refused with the whole conversation.
    return named if _MIME.fullmatch(named) and named not in SHOWN else _UNKNOWN


def _notice(turn: Turn, lost: Sequence[str]) -> NewChatMessage:
    said = _LOST.format(what="; ".join(lost))
    # Not of the turn: a notice of that would be its end.
    return NewChatMessage(Author.SYSTEM, said, ChatState.SENT, ChatKind.NOTICE, target=turn.target)
