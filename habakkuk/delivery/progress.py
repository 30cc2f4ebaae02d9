"""What a long turn does, in one silent message that its answer takes away again (seed, Channels).

The message's id is kept with the turn: one that runs again after a crash edits the same. While the
database is away it is kept here, so that no second one is posted, and none stays when the turn ends
meanwhile. A kill between posting it and keeping its id leaves a message that nobody takes away; no
platform can be asked for it. Where there are no such messages, one notice says that the turn still
runs.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from habakkuk.channels.contract import Feature
from habakkuk.channels.registry import Adapter
from habakkuk.conversations.store import addresses, outgoing, turns
from habakkuk.conversations.types import Target, Turn
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.ids import derive
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.delivery import store
from habakkuk.delivery.asides import Asides
from habakkuk.delivery.drafts import Draft, take_away
from habakkuk.jobs.loop import Loop

# Seed, Channels: a draft after 8 s, changed every 3 s at most, with the last 8 calls; a notice
# after 60 s.
_DRAFT_SECONDS = 8.0
_EDIT_SECONDS = 3.0
_NOTICE_SECONDS = 60.0
_LINES = 8
_LOOK_SECONDS = 0.5
_IDLE_SECONDS = 3600.0
_HEAD = "Working…"
_STILL = "I am still working on this."


@dataclass
class _Followed:
    """One turn that runs here. What follows `began` changes under the lock."""

    turn: str
    conversation: str
    target: Target
    drafts: bool
    began: float
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    draft: str = ""
    # Whether its id stands with the turn, where the answer finds it.
    kept: bool = False
    shown: str = ""
    busy: bool = False
    waits: bool = False
    over: bool = False

    @property
    def place(self) -> tuple[str, str]:
        return (self.target.account, self.target.chat)

    @property
    def stands_alone(self) -> bool:
        """Whether a message was posted that nobody else knows of."""
        return bool(self.draft) and not self.kept

    @property
    def text(self) -> str:
        return "\n".join([_HEAD, *(f"• {line}" for line in self.lines)])


class Progress:
    """The turns of this process that people wait for. Its thread begins with the first of them."""

    def __init__(self, database: Database, asides: Asides, failpoints: Failpoints) -> None:
        """Show it by these threads."""
        self._database = database
        self._asides = asides
        self._failpoints = failpoints
        self._lock = threading.Lock()
        self._turns: dict[str, _Followed] = {}
        # Turns that run here no more, and whose message may have to be taken away.
        self._left: list[_Followed] = []
        # When a chat may be written to again.
        self._free: dict[tuple[str, str], float] = {}
        self._loop: Loop | None = None

    @contextmanager
    def following(self, turn: Turn) -> Iterator[None]:
        """Show what a turn does while the block lasts, once that is long."""
        followed = self._followed(turn)
        if followed is None:
            yield
            return
        with self._lock:
            self._turns[turn.id] = followed
            if self._loop is None:
                self._loop = Loop("progress", self._look)
                self._loop.start()
        self._loop.kick()
        try:
            yield
        finally:
            with self._lock:
                self._turns.pop(turn.id, None)
                followed.over = True
                if followed.busy or followed.stands_alone:
                    self._left.append(followed)

    def called(self, turn_id: str, line: str) -> None:
        """Note a call of a turn, told in a line."""
        with self._lock:
            followed = self._turns.get(turn_id)
            if followed is not None:
                followed.lines.append(line)
                followed.waits = False

    def waits(self, turn_id: str) -> None:
        """Note that a person is asked: nobody has to be told that the turn works."""
        with self._lock:
            followed = self._turns.get(turn_id)
            if followed is not None:
                followed.waits = True

    def stop(self) -> None:
        """Show nothing any more."""
        if self._loop is not None:
            self._loop.stop()

    def _followed(self, turn: Turn) -> _Followed | None:
        target = turn.target
        line = self._asides.line(target.account) if target is not None else None
        if target is None or line is None or not line.config.progress:
            return None
        manifest = line.adapter.manifest
        drafts = Feature.DRAFTS in manifest.features
        # Programs wait for answers, not for words about them, and so does who wrote a mail: a
        # notice is for where people chat.
        if not drafts and not (manifest.pairs and manifest.bursts):
            return None
        return _Followed(turn.id, turn.conversation_id, target, drafts, time.monotonic())

    def _look(self) -> float:
        with self._lock:
            self._left = [one for one in self._left if one.busy or one.stands_alone]
            if not self._turns and not self._left:
                # A wait that a platform asked for is one for the chat's next turn, too.
                now = time.monotonic()
                self._free = {place: until for place, until in self._free.items() if until > now}
                return _IDLE_SECONDS
            for followed in self._turns.values():
                if self._is_due(followed):
                    followed.busy = True
                    act = self._tell if not followed.drafts else self._show
                    self._asides.submit(partial(self._done, followed, act))
            for followed in self._left:
                if not followed.busy:
                    followed.busy = True
                    self._asides.submit(partial(self._done, followed, self._note))
        return _LOOK_SECONDS

    def _is_due(self, followed: _Followed) -> bool:
        if followed.busy or followed.waits:
            return False
        now = time.monotonic()
        if not followed.drafts:
            return now - followed.began >= _NOTICE_SECONDS and not followed.shown
        if now < self._free.get(followed.place, 0.0) or followed.shown == followed.text:
            return False
        if not followed.draft and now - followed.began < _DRAFT_SECONDS:
            return False
        self._free[followed.place] = now + _EDIT_SECONDS
        return True

    def _done(self, followed: _Followed, act: Callable[[_Followed], None]) -> None:
        try:
            # What the database misses now the next look tries again.
            with suppress(DatabaseAway):
                act(followed)
        finally:
            followed.busy = False

    def _tell(self, followed: _Followed) -> None:
        """Say once a turn that it still runs; nothing of one that ended while a thread was awaited.

        Whoever ends it locks the conversation, too: what is said here goes out before its answer.
        """
        delivery = derive("dl", "working", followed.turn)
        with self._database.transaction() as work:
            addresses.lock_by_id(work, followed.conversation)
            if (turn := turns.get_in(work, followed.turn)) is not None and turn.ended is None:
                outgoing.tell(work, delivery, followed.conversation, followed.target, _STILL)
        followed.shown = _STILL

    def _show(self, followed: _Followed) -> None:
        with self._lock:
            text = followed.text
        if not followed.draft:
            known = store.draft_of(self._database, followed.turn)
            if known is None:
                # It has ended meanwhile.
                return
            followed.draft, followed.kept = known, bool(known)
        if followed.stands_alone:
            self._note(followed)
        elif followed.draft:
            asked = partial(_redraft, followed.target.chat, followed.draft, text)
            self._asked(followed, text, asked)
        else:
            self._asked(followed, text, partial(self._post, followed, text))

    def _asked(self, followed: _Followed, text: str, ask: Callable[[Adapter], None]) -> None:
        refused = self._asides.ask(followed.target.account, "progress", ask)
        if refused is None:
            followed.shown = text
            return
        if refused.retry_after is not None:
            with self._lock:
                self._free[followed.place] = time.monotonic() + refused.retry_after
        elif not refused.retryable:
            # It will not be taken the next time either.
            followed.shown, followed.waits = text, True

    def _post(self, followed: _Followed, text: str, adapter: Adapter) -> None:
        target = followed.target
        draft = adapter.draft(target.chat, target.thread, target.message, text)
        self._failpoints.hit("draft.post.after")
        followed.draft = draft
        self._keep(followed, adapter)

    def _note(self, followed: _Followed) -> None:
        """Do what was missed when the message was posted."""
        self._asides.ask(followed.target.account, "progress", partial(self._keep, followed))

    def _keep(self, followed: _Followed, adapter: Adapter) -> None:
        """Keep the message's id with the turn, or take the message away. Raises DatabaseAway."""
        draft = followed.draft
        if not followed.over and store.keep_draft(self._database, followed.turn, draft):
            followed.kept = True
            return
        # The answer came in between and did not know of it, or the turn has another by now.
        posted = Draft(followed.turn, followed.target, draft)
        take_away(self._database, self._failpoints, adapter, posted)
        followed.draft = ""


def _redraft(chat: str, draft: str, text: str, adapter: Adapter) -> None:
    adapter.redraft(chat, draft, text)
