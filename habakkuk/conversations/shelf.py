"""A person's own conversations: listed, searched, named, put away, exported and removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from habakkuk.conversations.exported import exported
from habakkuk.conversations.service import Viewer
from habakkuk.conversations.store import addresses, chat, shelf
from habakkuk.conversations.store.shelf import Page, Shelved
from habakkuk.conversations.types import (
    Address,
    Author,
    Conversation,
)
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.core.text import clean, shorten
from habakkuk.db.engine import Database, Work

_TITLE = 80
_LONGEST_TITLE = 200
_LONGEST_SEARCH = 200
_ALIVE = "something here is still being answered; stop it, then remove the conversation"
_NAMES = {Author.USER: "You", Author.SYSTEM: "Habakkuk"}


class Shelf:
    """The conversations of one process's database, each person's own."""

    def __init__(self, database: Database) -> None:
        """Use the pool of this process."""
        self._database = database

    def listed(self, viewer: Viewer, channel: str, page: Page) -> Sequence[Shelved]:
        """Return the person's conversations, the newest first."""
        rows = shelf.of_user(self._database, channel, viewer.user_id, page)
        return [_titled(row) for row in rows]

    def count(self, viewer: Viewer, channel: str, *, archived: bool = False) -> int:
        """Return how many there are in all."""
        return shelf.count(self._database, channel, viewer.user_id, archived=archived)

    def search(
        self, viewer: Viewer, channel: str, words: str, limit: int = 50
    ) -> Sequence[Shelved]:
        """Return what holds these words in its title or in a message. Raises Invalid."""
        wanted = clean(words).strip()
        if not wanted or len(wanted) > _LONGEST_SEARCH:
            raise Invalid(f"search for 1 to {_LONGEST_SEARCH} characters")
        rows = shelf.search(self._database, channel, viewer.user_id, wanted, limit)
        return [_titled(row) for row in rows]

    def one(self, viewer: Viewer, address: Address) -> Shelved:
        """Return one conversation. Raises NotFound."""
        found = self._find(viewer, address)
        row = shelf.one(self._database, found.id)
        if row is None:
            raise NotFound("there is no such conversation")
        return _titled(row)

    def name(self, viewer: Viewer, address: Address, title: str) -> None:
        """Set the title by hand; an empty one goes back to the automatic one. Raises NotFound."""
        wanted = fit_title(title)
        with self._database.transaction() as work:
            found = self._lock(work, viewer, address)
            shelf.name(work, found.id, found.session_id, wanted or None)

    def archive(self, viewer: Viewer, address: Address, *, archived: bool) -> None:
        """Put a conversation away, or take it back. Raises NotFound."""
        with self._database.transaction() as work:
            found = self._lock(work, viewer, address)
            shelf.archive(work, found.id, archived=archived)

    def remove(self, viewer: Viewer, address: Address) -> None:
        """Remove a conversation for good, with its sessions and turns.

        Raises NotFound, and Conflict while a turn of it is alive.
        """
        found = self._find(viewer, address)
        with self._database.transaction() as work:
            if not shelf.remove(work, found.id):
                raise Conflict(_ALIVE)

    def export(self, viewer: Viewer, address: Address) -> Iterator[str]:
        """Yield the conversation as Markdown, piece by piece. Raises NotFound."""
        row = self.one(viewer, address)
        page = partial(chat.after, self._database, row.id)
        return exported(row.title, row.agent, page)

    def _find(self, viewer: Viewer, address: Address) -> Conversation:
        return _seen(viewer, addresses.find(self._database, address))

    def _lock(self, work: Work, viewer: Viewer, address: Address) -> Conversation:
        return _seen(viewer, addresses.lock(work, address))


def fit_title(title: str) -> str:
    """Return a title on one line. Raises Invalid when it is too long."""
    wanted = " ".join(clean(title).split())
    if len(wanted) > _LONGEST_TITLE:
        raise Invalid(f"a title has at most {_LONGEST_TITLE} characters")
    return wanted


def automatic_title(message: str) -> str:
    """Return the title that a session gets from its first message: how its first line begins."""
    return shorten(message.strip().partition("\n")[0], _TITLE)


def _titled(row: Shelved) -> Shelved:
    if row.title is None or row.named:
        return row
    return replace(row, title=automatic_title(row.title))


def _seen(viewer: Viewer, found: Conversation | None) -> Conversation:
    if found is None or not viewer.sees(found.user_id):
        raise NotFound("there is no such conversation")
    return found
