"""Send a message as the owner and follow its turn to the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from habakkuk.core.errors import Invalid, Unavailable
from web.cli.terminal.answer import LiveAnswer
from web.cli.terminal.approver import Approver

if TYPE_CHECKING:
    from habakkuk.accounts.types import Principal
    from habakkuk.bootstrap import Container
    from habakkuk.conversations.types import Address, ChatMessage, Turn
    from habakkuk.events.hub import Subscription
    from habakkuk.gateway.types import Admitted

ORIGIN = "cli"
STOPPED = "stopped by you"
_NO_WORKER = (
    "no worker is running, so nobody would answer; nothing was sent. Start with ./scripts/up,"
    " or look at `habakkuk status`"
)
_WORKERS_GONE = (
    "No worker is running any more. The message is stored; it is answered when one is back."
)
_DATABASE_GONE = "The database does not answer. Waiting for it; the message is stored."
_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Ended:
    """How a turn ended. `answer` is empty when there is none, `notice` says what else there is."""

    answer: str
    notice: str
    outcome: str

    @property
    def answered(self) -> bool:
        """Whether the whole answer is there."""
        return self.outcome == "answered" and bool(self.answer)


@dataclass(frozen=True)
class Place:
    """Where messages go. `session` pins one that is not its conversation's current session."""

    address: Address
    session: str | None = None
    agent: str | None = None


class Asker:
    """Asks for one command."""

    def __init__(
        self, container: Container, principal: Principal, approver: Approver | None = None
    ) -> None:
        """Act as `principal`; without an `approver` what needs approval is denied at once."""
        self._container = container
        self._principal = principal
        self._approver = approver

    def place(self, chat: str, session: str | None, agent: str | None) -> Place:
        """Return a new conversation called `chat`, or that of a session.

        Raises NotFound, and Invalid when the session is another agent's.
        """
        from habakkuk.conversations.types import Address  # noqa: PLC0415 - not for --help

        if session is None:
            return Place(Address("cli", "cli", chat), None, agent)
        conversations = self._container.conversations
        owner = conversations.session(self._principal, session).agent
        if agent is not None and agent != owner:
            raise Invalid(f"the session is the agent {owner!r}'s; leave --agent out")
        found = conversations.of_session(self._principal, session)
        return Place(found.address, session)

    def placed_after_command(self, place: Place, admitted: Admitted) -> Place:
        """Return where the next message goes: a command may have begun a new session."""
        now = self._container.conversations.find(self._principal, place.address).session_id
        return replace(place, session=None) if now != admitted.session_id else place

    def send(self, place: Place, text: str, *, commands: bool = True) -> Admitted:
        """Admit a message; nothing is sent when nobody would answer (Unavailable)."""
        from habakkuk.gateway.types import Inbound  # noqa: PLC0415 - not for --help

        if not self.workers():
            raise Unavailable(_NO_WORKER)
        inbound = Inbound(
            place.address,
            self._principal.user,
            text,
            ORIGIN,
            agent=place.agent,
            session_id=place.session,
            commands=commands,
            attended=self._approver is not None,
            approves=self._approver is not None,
        )
        return self._container.gateway.admit(inbound)

    def follow(self, session: str, turn_id: str, view: LiveAnswer) -> Ended:
        """Show the turn until it ends, whatever goes away meanwhile."""
        live = self._container.live
        self._container.done.start()
        with live.subscribed(session) as subscription:
            for event in live.replay(session):
                view.take(event)
            waiting = _Waiting(self, view)
            while (turn := waiting.look(turn_id)) is None:
                if self._approver is not None:
                    self._approver.settle(session, view)
                _show(subscription, view)
        ended = _ended(turn, self._container.conversations.reply(turn))
        view.finish(ended.answer)
        return ended

    def stop(self, turn_id: str) -> None:
        """Stop a turn, as /stop does."""
        with self._container.database.transaction() as work:
            self._container.jobs.cancel(work, turn_id, STOPPED)

    def workers(self) -> bool:
        """Whether a process is alive that runs turns."""
        alive = self._container.jobs.workers_alive()
        return any(queue.partition(".")[0] == "turns" for one in alive for queue in one.queues)

    def turn(self, turn_id: str) -> Turn:
        """Return a turn."""
        return self._container.conversations.turn(self._principal, turn_id)


class _Waiting:
    """Looks whether a turn ended, and says what is away, each thing once."""

    def __init__(self, asker: Asker, view: LiveAnswer) -> None:
        self._asker = asker
        self._view = view
        self._said: set[str] = set()

    def look(self, turn_id: str) -> Turn | None:
        """Return the turn when it has ended."""
        try:
            turn = self._asker.turn(turn_id)
            if turn.ended is not None:
                return turn
            if not self._asker.workers():
                self._say(_WORKERS_GONE)
        except Unavailable:
            self._say(_DATABASE_GONE)
        return None

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._view.note(sentence)


def _show(subscription: Subscription, view: LiveAnswer) -> None:
    """Show events until there is reason to look at the turn again."""
    while (event := subscription.get(timeout=_LOOK_SECONDS)) is not None:
        if view.take(event):
            return


def _ended(turn: Turn, reply: ChatMessage | None) -> Ended:
    outcome = str(turn.outcome or "withdrawn")
    if reply is None:
        return Ended("", "The message was withdrawn before it was answered.", outcome)
    if reply.author == "agent":
        return Ended(reply.body, str(reply.data.get("notice", "")), outcome)
    return Ended("", reply.body, outcome)
