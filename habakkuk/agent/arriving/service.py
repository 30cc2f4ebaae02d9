"""Fetch the files of messages before their turn takes them (cases: K2, K54), and place them.

A channel's message is stored at once with what its platform needs to hand its files out, so no
intake waits for a download; what is sent to Habakkuk itself is stored with its message. Before the
turn takes them, the one is fetched and both are put where the agent's tools find them. Files are
stored by their content, in the blobs and in the workspace's inbox alike, in pieces: a run that dies
in between has cost a download. What cannot be had is named to the model, and to the person by a
notice.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from habakkuk.agent.arriving import inbox
from habakkuk.blobs.incoming import HEAD_BYTES, MOST_BYTES, media_type
from habakkuk.blobs.service import Blobs
from habakkuk.channels.contract import Bounds, NotFetched
from habakkuk.channels.messages import RemoteFile
from habakkuk.channels.registry import Channels, Line
from habakkuk.conversations.files import FILES, LOST, Attached, Awaited
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
from habakkuk.core.errors import ConfigurationError, NotFound, ToolError
from habakkuk.core.log import get_logger
from habakkuk.core.text import size_text
from habakkuk.jobs.contract import JobContext
from habakkuk.llm.media.sniff import SHOWN

_log = get_logger("agent.arriving")
# Between tries, in seconds; a platform that wants to be left alone for longer keeps its file.
_PAUSES = (1.0, 4.0)
_LONGEST_PAUSE = 30.0
# All files of a turn together: people wait for its answer, not for ever for what came with them.
_SECONDS = 300.0
_TOO_LARGE = f"it is larger than the {size_text(MOST_BYTES)} that I take"
_LOST = "I could not take {what}."


class Arrivals:
    """Fetches what messages await."""

    def __init__(
        self,
        channels: Channels,
        blobs: Blobs,
        workspace: Callable[[str], Path],
        pauses: Sequence[float] = _PAUSES,
    ) -> None:
        """`workspace` is that of an agent."""
        self._channels = channels
        self._blobs = blobs
        self._workspace = workspace
        self._pauses = pauses

    def fetch(self, context: JobContext, taken: Taken) -> None:
        """Fetch and place what came with the messages of a turn, which is not taken yet.

        Raises Interrupted and DatabaseAway; then the turn comes back and goes on.
        """
        bounds = Bounds(MOST_BYTES, context.interrupt, time.monotonic() + _SECONDS)
        for said in taken.messages:
            if said.awaited or said.unplaced:
                self._settle(context, taken.turn, said, bounds)

    def _settle(self, context: JobContext, turn: Turn, said: Said, bounds: Bounds) -> None:
        mark = partial(self._mark, context, turn) if said.outside else _no_mark
        placed: Sequence[Attached | str] = said.files
        if said.unplaced:
            placed = [self._placed(turn, one, mark) for one in said.files]
        got = [self._got(turn, one, bounds, mark) for one in said.awaited]
        # What found no place stays with its message, where its sender can have it back.
        kept = [
            one if isinstance(one, Attached) else sent
            for one, sent in zip(placed, said.files, strict=True)
        ]
        homeless, gone = _refusals(placed), _refusals(got)
        lost = [*homeless, *gone]
        context.failpoints.hit("files.fetch.after")
        every: dict[str, list[Any]] = {
            FILES: [asdict(one) for one in (*kept, *got) if isinstance(one, Attached)],
            LOST: homeless,
            UNREAD: [*said.unread, *gone],
        }
        change = {name: some for name, some in every.items() if some}
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
        # What comes slowly, and many at once, lies on the disk meanwhile.
        with tempfile.TemporaryFile() as kept:
            try:
                self._fetch(awaited, bounds, kept)
                return self._laid(turn, self._stored(awaited, kept), kept, mark)
            except (NotFetched, ToolError) as error:
                _log.warning("a file is not taken", account=awaited.account, reason=str(error))
                return _missing(awaited.name, error)

    def _placed(self, turn: Turn, file: Attached, mark: Callable[[str], None]) -> Attached | str:
        """Return a file that is stored already with its place, or why it has none."""
        if file.path is not None:
            return file
        try:
            with self._blobs.open(file.blob) as opened:
                return self._laid(turn, file, opened, mark)
        except (NotFound, ToolError) as error:
            _log.warning("a file is not placed", reason=str(error))
            return _missing(file.name, error)

    def _mark(self, context: JobContext, turn: Turn, path: str) -> None:
        """Note that strangers' words are about to lie in a file: a crash leaves a mark too many."""
        whole = str(self._workspace(turn.agent) / path)
        with context.database.transaction() as work:
            context.guard(work)
            turns.taint(work, turn.id)
            taints.mark(work, Touched(turn.agent, turn.id, [whole]))

    def _stored(self, awaited: Awaited, kept: BinaryIO) -> Attached:
        size = kept.tell()
        kept.seek(0)
        mime = media_type(kept.read(HEAD_BYTES), awaited.mime)
        return Attached(self._blobs.put_file(kept, mime), mime, awaited.name or None, size)

    def _laid(
        self, turn: Turn, file: Attached, source: BinaryIO, mark: Callable[[str], None]
    ) -> Attached:
        name = inbox.file_name(file.name or "", file.mime, file.blob)
        try:
            path = inbox.put(self._workspace(turn.agent), name, source, mark)
        except ToolError:
            if file.mime not in SHOWN:
                raise
            # The model sees it all the same.
            return file
        return replace(file, path=path)

    def _fetch(self, awaited: Awaited, bounds: Bounds, kept: BinaryIO) -> None:
        if awaited.size is not None and awaited.size > MOST_BYTES:
            raise NotFetched(_TOO_LARGE)
        line = self._line(awaited.account)
        file = RemoteFile(awaited.name, awaited.mime, awaited.size, awaited.handle)
        for pause in self._pauses:
            try:
                _read(line, file, bounds, kept)
            except NotFetched as error:
                wait = max(pause, error.retry_after or 0.0)
                if not error.retryable or wait > min(_LONGEST_PAUSE, bounds.left()):
                    raise
            else:
                return
            bounds.interrupt.wait(wait)
            bounds.interrupt.check()
        _read(line, file, bounds, kept)

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


def _read(line: Line, file: RemoteFile, bounds: Bounds, kept: BinaryIO) -> None:
    kept.seek(0)
    kept.truncate()
    for piece in line.adapter.fetch(file, bounds):
        bounds.interrupt.check()
        bounds.left()
        if kept.tell() + len(piece) > bounds.limit:
            raise NotFetched(_TOO_LARGE)
        kept.write(piece)


def _refusals(found: Sequence[Attached | str]) -> list[str]:
    return [one for one in found if isinstance(one, str)]


def _missing(name: str | None, why: Exception) -> str:
    return f"the file {name or 'without a name'} ({why})"


def _notice(turn: Turn, lost: Sequence[str]) -> NewChatMessage:
    said = _LOST.format(what="; ".join(lost))
    # Not of the turn: a notice of that would be its end.
    return NewChatMessage(Author.SYSTEM, said, ChatState.SENT, ChatKind.NOTICE, target=turn.target)
