"""The workspaces of an account: which token speaks in which chat.

An app has one line for all workspaces that it is installed in, and a bot token for each. Chats and
people of the account's own go by Slack's ids; those of the others by `<workspace>/<id>`, since ids
are Slack's within a workspace only.
"""

from __future__ import annotations

from collections.abc import Mapping

from habakkuk.channels.slack.client import Client
from habakkuk.channels.slack.history import History
from habakkuk.channels.slack.knowledge import Knowledge
from habakkuk.channels.slack.pace import Pace

_BETWEEN = "/"


class Workspace:
    """One workspace as seen by the app's bot there."""

    def __init__(self, client: Client, team: str = "") -> None:
        """`team` is the workspace's id; empty for the account's own."""
        self.team = team
        self.client = client
        self.knowledge = Knowledge(client)
        self.history = History(client)
        # Kept here, since what Slack asked for outlasts a line.
        self.pace = Pace()

    def bot(self) -> str:
        """Return the bot's user id there. Raises ChannelError."""
        return self.knowledge.bot()

    def name(self, user: str) -> str:
        """Return what a user is called, nothing where that cannot be told now."""
        return self.knowledge.name(user)

    def speaks_in(self, channel: str, thread: str) -> bool:
        """Say whether the bot answers in a thread. Raises ChannelError."""
        return self.knowledge.speaks_in(channel, thread)

    def called_in(self, channel: str, thread: str) -> None:
        """Note that the bot was called in a thread."""
        self.knowledge.called_in(channel, thread)

    def written(self, own: str) -> str:
        """Return what a chat or a person of this workspace is called here."""
        return f"{self.team}{_BETWEEN}{own}" if self.team and own else own


class Workspaces:
    """All of an account's."""

    def __init__(self, own: Workspace, others: Mapping[str, Workspace]) -> None:
        """Know the account's own, and the others by their ids."""
        self.own = own
        self.others = others

    def of(self, team: str) -> Workspace:
        """Return a workspace by its id; what nobody named belongs to the account's own."""
        return self.others.get(team, self.own)

    def at(self, place: str) -> tuple[Workspace, str]:
        """Return the workspace of a chat or a person, and what Slack calls them there."""
        return self.of(place.rpartition(_BETWEEN)[0]), own_id(place)


def own_id(place: str) -> str:
    """Return Slack's id of a chat or a person."""
    return place.rpartition(_BETWEEN)[2]
