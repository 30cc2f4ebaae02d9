"""Messages that somebody deleted at their platform (K85).

One that nobody has begun to answer is withdrawn, as if it had never come. Of one that is being
answered, or was, it is noted and nothing else: what was said stands.
"""

from __future__ import annotations

from functools import partial

from habakkuk.accounts.service import Accounts
from habakkuk.channels.messages import Removal
from habakkuk.channels.registry import Line
from habakkuk.conversations.store import addresses, chat
from habakkuk.conversations.types import ChatState
from habakkuk.db.engine import Database, Work
from habakkuk.events.hub import LiveHub
from habakkuk.gateway import places
from habakkuk.gateway.edits import Edited
from habakkuk.gateway.entry import remote_id
from habakkuk.gateway.store import corrections, cursors
from habakkuk.gateway.store.corrections import Sent
from habakkuk.gateway.types import Cursor


class Removals:
    """The deletions of every channel."""

    def __init__(self, database: Database, accounts: Accounts, live: LiveHub) -> None:
        """Use the parts of this process; who looks on is told through `live`."""
        self._database = database
        self._accounts = accounts
        self._live = live

    def remove(self, line: Line, removal: Removal, cursor: Cursor | None) -> Edited:
        """Take a deletion, once however often it comes.

        Where the platform tells whose message it was, it has to be theirs: ids are not secret.
        """
        remote = remote_id(removal.id)
        conversation = corrections.place(self._database, line.name, remote)
        with self._database.transaction() as work:
            if conversation is not None:
                addresses.lock_by_id(work, conversation)
            if cursor is not None:
                cursors.save(work, places.address(line, removal), cursor)
            if conversation is None:
                return Edited.NOTHING
            sent = corrections.sent(work, conversation, line.name, remote)
            if sent is None or not self._is_theirs(line, removal, sent):
                return Edited.NOTHING
            return self._removed(work, conversation, sent)

    def _is_theirs(self, line: Line, removal: Removal, sent: Sent) -> bool:
        if not removal.sender:
            return True
        writer = self._accounts.known(line.channel, line.name, removal.sender)
        return writer is not None and writer.id == sent.user_id

    def _removed(self, work: Work, conversation: str, sent: Sent) -> Edited:
        if sent.state is ChatState.WITHDRAWN or sent.removed:
            return Edited.AGAIN
        if sent.state is not ChatState.QUEUED:
            corrections.note_removed(work, conversation, sent.seq)
            return Edited.DONE
        chat.withdraw_one(work, conversation, sent.seq)
        if sent.session_id is not None:
            work.after_commit(partial(self._live.queue_changed, sent.session_id))
        return Edited.DONE
