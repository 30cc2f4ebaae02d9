"""How strangers come in: a code that they are told, and that the owner types."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from habakkuk.accounts.service import Accounts
from habakkuk.accounts.types import User
from habakkuk.conversations.store import outgoing
from habakkuk.conversations.types import Address, Target
from habakkuk.core.errors import NotFound
from habakkuk.core.ids import derive
from habakkuk.core.log import get_logger
from habakkuk.core.text import clean, shorten
from habakkuk.db.engine import Database
from habakkuk.gateway import rows
from habakkuk.gateway.store import pairings
from habakkuk.gateway.store.pairings import Asked, Pairing

_log = get_logger("gateway.pairing")
# Letters that nobody takes for another: none of I, L and O.
_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_LETTERS = 8
CODE_SECONDS = 3600.0
# So that a crowd of strangers costs neither room nor the owner's patience.
MOST_OPEN = 20
_LONGEST_NAME = 80
# An index row has room for no more, and no platform has such ids.
_LONGEST_ID = 500
_TOLD = (
    "I do not know you yet, so I have not read what you wrote. Give whoever runs this server the"
    " code {code}; they let you in with: habakkuk pair {code}\nThe code is good for one hour."
)
_WELCOME = "You are let in. Write to me from now on."


class Pairings:
    """The pairings of this server."""

    def __init__(self, database: Database, accounts: Accounts) -> None:
        """Use the pool and the people of this process."""
        self._database = database
        self._accounts = accounts

    def holds(self, channel: str, account: str, sender: str) -> bool:
        """Whether a sender was let in."""
        return pairings.is_paired(self._database, channel, account, sender)

    def knock(self, address: Address, sender: str, name: str, target: Target) -> bool:
        """Tell a stranger a code, once an hour; False when nothing is said.

        Kept are the sender's id, how the platform calls them and where they are told.
        """
        if len(sender.encode()) > _LONGEST_ID:
            return False
        code = "".join(secrets.choice(_ALPHABET) for _ in range(CODE_LETTERS))
        asked = Asked(sender, shorten(clean(name), _LONGEST_NAME), code, target)
        with self._database.transaction() as work:
            if not pairings.ask(work, address, asked, MOST_OPEN, CODE_SECONDS):
                return False
            conversation = rows.conversation_id(address)
            delivery = derive("dl", "pairing", code)
            outgoing.tell(work, delivery, conversation, target, _TOLD.format(code=code))
        _log.info("a stranger was told a pairing code", account=address.account, sender=sender)
        return True

    def let_in(self, code: str, person: str | None = None) -> tuple[Pairing, User]:
        """Let in whoever was told this code, as `person` or as somebody new.

        Raises NotFound when no open code is this one, or nobody is called `person`.
        """
        typed = "".join(code.split()).replace("-", "").upper()
        named = self._accounts.find(person) if person is not None else None
        with self._database.transaction() as work:
            found = pairings.find(work, clean(typed))
        if found is None:
            raise NotFound(
                "no open code is this one; a code is good for one hour, see `habakkuk pair list`"
            )
        place = (found.channel, found.account, found.sender)
        # Before the pairing: whoever is let in is somebody.
        if named is not None:
            self._accounts.link(*place, named)
        user = named or self._accounts.of_identity(*place, found.name)
        with self._database.transaction() as work:
            if pairings.find(work, clean(typed)) is None:
                raise NotFound("this code was used or ran out just now; see `habakkuk pair list`")
            pairings.approve(work, found, user.id)
            target = found.target
            address = Address(found.channel, found.account, target.chat, target.thread)
            delivery = derive("dl", "paired", typed)
            outgoing.tell(work, delivery, rows.conversation_id(address), target, _WELCOME)
        return found, user

    def listed(self) -> Sequence[Pairing]:
        """Return the open codes and everybody who was let in by one."""
        return pairings.listed(self._database)

    def revoke(self, account: str, sender: str) -> None:
        """Take a code or a pairing back: the sender is a stranger again. Raises NotFound."""
        if not pairings.remove(self._database, clean(account), clean(sender)):
            raise NotFound(
                f"{sender!r} was not paired on {account!r}; see `habakkuk pair list`. Who stands in"
                " allow_from of config.yaml is let in by that"
            )
