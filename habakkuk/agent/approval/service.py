"""Answer approvals: once, by the person who asked or by an owner, on any surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from habakkuk.accounts.types import Role, User
from habakkuk.agent.approval import store
from habakkuk.agent.approval.types import UNDELIVERED, Answer, Approval
from habakkuk.conversations.store import addresses
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.core.text import clean
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.service import Jobs

_YES = frozenset({"yes", "y", "ok", "okay", "allow", "approve", "👍", "✅"})
_NO = frozenset({"no", "n", "deny", "stop it", "👎", "❌"})
_MAX_REASON = 2000


class Approvals:
    """The questions of this server."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        """Use the pool and the jobs of this process."""
        self._database = database
        self._jobs = jobs

    def open(self, user: User) -> Sequence[Approval]:
        """Return the open questions that the person may answer, oldest first."""
        own = None if user.role is Role.OWNER else user.id
        return store.open_approvals(self._database, own)

    def get(self, user: User, approval_id: str) -> Approval:
        """Return a question that the person may answer or answered. Raises NotFound."""
        approval = store.get(self._database, approval_id)
        if approval is None or not user.decides_for(approval.user_id):
            raise NotFound(f"there is no approval {approval_id!r}")
        return approval

    def answer(self, user: User, approval_id: str, answer: Answer, reason: str = "") -> Approval:
        """Answer a question and let its turn go on.

        Raises NotFound for another's question, Invalid when the session cannot be covered and
        Conflict when it has been answered or its time is over.
        """
        approval = self.get(user, approval_id)
        with self._database.transaction() as work:
            addresses.lock_by_id(work, approval.conversation_id)
            self.answer_in(work, user, approval, answer, reason)
        return replace(approval, outcome=answer)

    def answer_in(
        self, work: Work, user: User, approval: Approval, answer: Answer, reason: str = ""
    ) -> None:
        """Answer inside a transaction that holds the conversation's lock."""
        if answer is Answer.SESSION and not approval.may_repeat:
            raise Invalid(
                "this cannot be allowed for the session: the command may mean something else each"
                " time; allow it once"
            )
        said = {"by": user.id, "reason": clean(reason.strip())[:_MAX_REASON]}
        if not self._jobs.resolve(work, approval.id, answer, said):
            raise Conflict("this was answered already, or its time is over")
        if answer is Answer.SESSION:
            store.grant(work, approval.session_id, approval.fingerprint, user.id)

    def undeliverable(self, wait_id: str, reason: str) -> None:
        """End a question that nobody will see; nothing when it is answered by now (case K55).

        An approval counts as denied, an agent's own question as one that nobody answered.
        """
        with self._database.transaction() as work:
            self._jobs.resolve(work, wait_id, UNDELIVERED, {"reason": clean(reason)})


def read_words(text: str) -> tuple[Answer, str] | None:
    """Return what a message says to an open question; None when it is an ordinary message.

    Only a message that is nothing but a yes or no, or that says why after "no": anything longer
    is for the agent.
    """
    words = text.strip().casefold().rstrip(".!")
    if words in _YES:
        return Answer.ONCE, ""
    if words in _NO:
        return Answer.DENY, ""
    head, comma, rest = text.strip().partition(",")
    if comma and head.strip().casefold() in _NO:
        return Answer.DENY, rest.strip()
    return None
