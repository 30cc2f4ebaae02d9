"""Messages that their writer changes at the platform (K85).

Before its turn has begun the text is replaced; while it runs the change is guidance, as /steer is;
after it has ended nothing runs: the model is told with the session's next turn.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial

from habakkuk.accounts.service import Accounts
from habakkuk.accounts.types import Role
from habakkuk.agent.steering import store as steering
from habakkuk.agent.steering.guidance import Guidance, guide
from habakkuk.channels.messages import Edit
from habakkuk.channels.registry import Line
from habakkuk.conversations.store import addresses, chat
from habakkuk.conversations.types import BOT, OUTSIDE, ChatState
from habakkuk.core.text import clean
from habakkuk.db.engine import Database, Work
from habakkuk.events.hub import LiveHub
from habakkuk.gateway import places
from habakkuk.gateway.entry import remote_id
from habakkuk.gateway.service import Gateway
from habakkuk.gateway.store import corrections, cursors
from habakkuk.gateway.store.corrections import Sent
from habakkuk.gateway.types import Cursor

_GUIDANCE = "The message was corrected: {text}"


class Edited(StrEnum):
    """What became of an edit or a deletion. NOTHING: it changes no message that stands."""

    DONE = "done"
    AGAIN = "again"
    NOTHING = "nothing"


class Edits:
    """The edits of every channel."""

    def __init__(
        self, database: Database, accounts: Accounts, gateway: Gateway, live: LiveHub
    ) -> None:
        """Use the parts of this process; who looks on is told through `live`."""
        self._database = database
        self._accounts = accounts
        self._gateway = gateway
        self._live = live

    def correct(self, line: Line, edit: Edit, cursor: Cursor | None) -> Edited:
        """Take an edit, once however often it comes.

        Raises Invalid for a text that admission would refuse.
        """
        wanted = clean(edit.text)
        if not wanted.strip():
            return self._nothing(line, edit, cursor)
        self._gateway.check_text(wanted)
        remote = remote_id(edit.id)
        conversation = corrections.place(self._database, line.name, remote)
        writer = self._accounts.known(line.channel, line.name, edit.sender)
        if conversation is None or writer is None or writer.role is Role.VIEWER:
            return self._nothing(line, edit, cursor)
        with self._database.transaction() as work:
            addresses.lock_by_id(work, conversation)
            if cursor is not None:
                cursors.save(work, places.address(line, edit), cursor)
            sent = corrections.sent(work, conversation, line.name, remote)
            if sent is None or sent.user_id != writer.id:
                return Edited.NOTHING
            return self._corrected(work, conversation, sent, wanted)

    def _nothing(self, line: Line, edit: Edit, cursor: Cursor | None) -> Edited:
        self._gateway.pass_over(places.address(line, edit), cursor)
        return Edited.NOTHING

    def _corrected(self, work: Work, conversation: str, sent: Sent, wanted: str) -> Edited:
        if sent.state is ChatState.WITHDRAWN or sent.session_id is None:
            return Edited.NOTHING
        if sent.current == wanted:
            return Edited.AGAIN
        if sent.state is ChatState.QUEUED:
            chat.replace_body(work, conversation, sent.seq, wanted)
            work.after_commit(partial(self._live.queue_changed, sent.session_id))
            return Edited.DONE
        corrections.note(work, conversation, sent.seq, wanted)
        running = {turn.id for turn in steering.begun(work, conversation)}
        if sent.turn_id in running and sent.user_id is not None:
            # It is a program's word, or holds strangers', as the message is and does.
            data = {name: sent.data[name] for name in (BOT, OUTSIDE) if name in sent.data}
            added = Guidance(_GUIDANCE.format(text=wanted), sent.user_id, data)
            guide(work, conversation, str(sent.turn_id), added)
        else:
            corrections.keep(work, sent.session_id, sent.seq, wanted)
        return Edited.DONE
