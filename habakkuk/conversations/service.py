"""Read what happened, as far as the person who asks may see it. Another's is not there at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from habakkuk.conversations.files import Attached, files_of
from habakkuk.conversations.store import (
    activity,
    addresses,
    chat,
    steps,
    transcript,
    turns,
    usage,
)
from habakkuk.conversations.store.activity import Activity
from habakkuk.conversations.store.steps import ShownTurn
from habakkuk.conversations.types import (
    Address,
    ChatMessage,
    Conversation,
    Session,
    StoredMessage,
    Turn,
)
from habakkuk.core.errors import NotFound
from habakkuk.db.engine import Database
from habakkuk.llm.types import Usage

_PAGE = 200


class Viewer(Protocol):
    """Who looks: an account's principal is one."""

    @property
    def user_id(self) -> str:
        """The person."""
        ...

    def sees(self, owner_id: str | None) -> bool:
        """Whether the person may see what belongs to this user; None is what nobody owns."""
        ...


class Conversations:
    """The readers of one process."""

    def __init__(self, database: Database) -> None:
        """Use the pool of this process."""
        self._database = database

    def find(self, viewer: Viewer, address: Address) -> Conversation:
        """Return the conversation at an address. Raises NotFound."""
        found = addresses.find(self._database, address)
        if found is None or not viewer.sees(found.user_id):
            raise NotFound("there is no such conversation")
        return found

    def session(self, viewer: Viewer, session_id: str) -> Session:
        """Return a session. Raises NotFound."""
        found = addresses.get_session(self._database, session_id)
        if found is None or not viewer.sees(found.user_id):
            raise NotFound(f"there is no session {session_id!r}")
        return found

    def of_session(self, viewer: Viewer, session_id: str) -> Conversation:
        """Return the conversation that a session belongs to. Raises NotFound."""
        session = self.session(viewer, session_id)
        found = addresses.get(self._database, session.conversation_id)
        if found is None:
            raise NotFound(f"there is no session {session_id!r}")
        return found

    def sessions(self, viewer: Viewer, limit: int = 50) -> Sequence[Session]:
        """Return the newest sessions that the person may see."""
        return addresses.list_sessions(
            self._database, None if viewer.sees(None) else viewer.user_id, limit
        )

    def transcript(self, viewer: Viewer, session_id: str) -> Sequence[StoredMessage]:
        """Return what the model sees of a session. Raises NotFound."""
        self.session(viewer, session_id)
        return transcript.load(self._database, session_id)

    def agent_works(self, agent: str) -> bool:
        """Return whether a turn of an agent is running, whoever asked for it."""
        with self._database.transaction() as work:
            return turns.runs_for(work, agent)

    def turn(self, viewer: Viewer, turn_id: str) -> Turn:
        """Return a turn. Raises NotFound."""
        found = turns.get(self._database, turn_id)
        if found is None or not viewer.sees(found.user_id):
            raise NotFound(f"there is no turn {turn_id!r}")
        return found

    def turn_with_reply(self, viewer: Viewer, turn_id: str) -> tuple[Turn, ChatMessage | None]:
        """Return a turn and the chat row that ended it. Raises NotFound."""
        found = turns.get_with_reply(self._database, turn_id)
        if found is None or not viewer.sees(found[0].user_id):
            raise NotFound(f"there is no turn {turn_id!r}")
        return found

    def address(self, turn: Turn) -> Address:
        """Return where a turn was asked for. The caller has checked the person. Raises NotFound."""
        found = addresses.get(self._database, turn.conversation_id)
        if found is None:
            raise NotFound(f"there is no turn {turn.id!r}")
        return found.address

    def reply(self, turn: Turn) -> ChatMessage | None:
        """Return the chat row that ended a turn; None while it runs or when it was withdrawn."""
        if turn.reply_seq is None:
            return None
        return chat.one(self._database, turn.conversation_id, turn.reply_seq)

    def usage(self, turn: Turn) -> Usage | None:
        """Return what a turn's model calls used together; None when none was counted."""
        return usage.summed(self._database, turn.session_id, turn.id)

    def after(self, conversation_id: str, seq: int, limit: int = _PAGE) -> Sequence[ChatMessage]:
        """Return the chat messages after `seq`, oldest first. The caller has checked the person."""
        return chat.after(self._database, conversation_id, seq, limit)

    def history(
        self, conversation_id: str, before: int | None = None, limit: int = _PAGE
    ) -> Sequence[ChatMessage]:
        """Return the newest chat messages, oldest first, those before `before` when it is given."""
        return chat.last(self._database, conversation_id, before or 2**62, limit)

    def file(self, conversation_id: str, seq: int, number: int) -> Attached:
        """Return a file of a chat message. The caller has checked the person. Raises NotFound."""
        row = chat.one(self._database, conversation_id, seq)
        files = files_of(row.data) if row is not None else ()
        if number >= len(files):
            raise NotFound("there is no such file")
        return files[number]

    def shown_turns(self, conversation_id: str, ids: Sequence[str]) -> Sequence[ShownTurn]:
        """Return these turns of a conversation with what they did before their answers."""
        return steps.turns(self._database, conversation_id, ids)

    def shown_open_turns(self, conversation: Conversation) -> Sequence[ShownTurn]:
        """Return the turns that have not ended, in the order of their answers."""
        return steps.open_turns(self._database, conversation.id, conversation.session_id)

    def whole_call(self, viewer: Viewer, turn_id: str, call_id: str) -> tuple[dict[str, Any], str]:
        """Return the input and the result of one tool call, uncut. Raises NotFound."""
        self.turn(viewer, turn_id)
        found = steps.whole_call(self._database, turn_id, call_id)
        if found is None:
            raise NotFound("there is no such call")
        return found

    def untaken(self, conversation_id: str) -> Sequence[ChatMessage]:
        """Return the messages that nobody has begun to answer or never will, in order."""
        return chat.untaken(self._database, conversation_id)

    def activity(self, viewer: Viewer) -> tuple[Sequence[Activity], Sequence[Activity]]:
        """Return the open turns and the lately failed ones that the person may see."""
        whose = None if viewer.sees(None) else viewer.user_id
        return (
            activity.open_turns(self._database, whose),
            activity.failed_turns(self._database, whose),
        )
