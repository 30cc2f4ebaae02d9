"""What people change after they wrote: edit, withdraw, ask again (design: blueprint §6)."""

from __future__ import annotations

from habakkuk.accounts.types import Principal
from habakkuk.conversations.files import awaited_of, files_of, unlaid
from habakkuk.conversations.service import Conversations
from habakkuk.conversations.store import addresses, chat, turns
from habakkuk.conversations.types import (
    OUTSIDE,
    UNREAD,
    Address,
    Author,
    ChatKind,
    ChatState,
    Conversation,
)
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.core.ids import derive
from habakkuk.core.text import clean
from habakkuk.db.engine import Database, Work
from habakkuk.events.hub import LiveHub
from habakkuk.gateway.service import Gateway
from habakkuk.gateway.types import Admitted, Inbound

_BEGUN = "it is being answered already; send what you want to add as a new message"
_BUSY = "something here is still being answered; stop it or wait for its end"
_CHANGEABLE = frozenset({ChatKind.MESSAGE, ChatKind.STEER})
_NOTHING = "there is nothing here to ask again"


class Amendments:
    """Changes to messages that the gateway has let in."""

    def __init__(self, database: Database, gateway: Gateway, live: LiveHub) -> None:
        """Use the pool of this process and the one door; who looks on is told through `live`."""
        self._database = database
        self._gateway = gateway
        self._live = live
        self._conversations = Conversations(database)

    def edit(self, principal: Principal, address: Address, seq: int, body: str) -> None:
        """Replace the text of a message that nobody has begun to answer.

        Raises NotFound, Invalid for a text that admission would refuse, Conflict once it is taken.
        """
        wanted = clean(body)
        self._gateway.check_text(wanted)
        with self._database.transaction() as work:
            found = self._waiting(work, principal, address, seq)
            chat.replace_body(work, found.id, seq, wanted)
        self._live.queue_changed(found.session_id)

    def withdraw(self, principal: Principal, address: Address, seq: int) -> None:
        """Take a message back that nobody has begun to answer. Raises NotFound and Conflict.

        Its turn ends without a word when no other message is left in it.
        """
        with self._database.transaction() as work:
            found = self._waiting(work, principal, address, seq)
            chat.withdraw_one(work, found.id, seq)
        self._live.queue_changed(found.session_id)

    def retry(self, principal: Principal, address: Address) -> Admitted:
        """Admit the conversation's last message once more, as a turn of its own of the person.

        Asked twice of the same state it is one turn. Raises NotFound, Invalid when there is
        nothing to ask again and Conflict while something is being answered.
        """
        found = self._conversations.find(principal, address)
        if turns.answers(self._database, found.session_id):
            raise Conflict(_BUSY)
        last = chat.last_said(self._database, found.id)
        if last is None:
            raise Invalid(_NOTHING)
        once = derive("retry", found.id, str(found.next_seq))
        files = unlaid(files_of(last.data))
        inbound = Inbound(
            address,
            principal.user,
            last.body,
            address.channel,
            remote_id=once,
            commands=False,
            # They look at the chat that has the button.
            attended=True,
            files=files,
            awaited=awaited_of(last.data),
            unplaced=bool(files),
            unread=tuple(last.data.get(UNREAD, ())),
            outside=bool(last.data.get(OUTSIDE)),
        )
        return self._gateway.admit(inbound)

    def _waiting(
        self, work: Work, principal: Principal, address: Address, seq: int
    ) -> Conversation:
        """Return the locked conversation in which this message of the person waits."""
        found = addresses.lock(work, address)
        if found is None or not principal.sees(found.user_id):
            raise NotFound("there is no such conversation")
        message = chat.one_in(work, found.id, seq)
        own = message is not None and message.author is Author.USER
        if message is None or not own or message.kind not in _CHANGEABLE:
            raise NotFound("there is no such message of yours")
        if message.state is not ChatState.QUEUED:
            raise Conflict(_BEGUN)
        return found
