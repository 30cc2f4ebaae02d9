"""Before a call runs: may it, must it ask, or was it answered."""

from __future__ import annotations

from dataclasses import dataclass, replace

from habakkuk.agent.approval import store
from habakkuk.agent.approval.reviewer import Decided, Review
from habakkuk.agent.approval.types import APPROVAL, EXPIRES_SECONDS, UNDELIVERED, Answer
from habakkuk.agent.offered import available
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store.mentions import mentioned
from habakkuk.core.config.schema import Approvers
from habakkuk.core.ids import derive
from habakkuk.jobs.types import CANCELLED, EXPIRED, NewWait, Wait
from habakkuk.llm.types import ToolCall
from habakkuk.tools.contract import Risk, Tool, ToolArgs
from habakkuk.tools.fingerprint import fingerprint, may_repeat
from habakkuk.tools.permissions import Decision, Taint, Verdict, decide

_UNATTENDED = (
    "{tool} needs approval ({why}) and nobody can be asked here, so it was not run. Go on without"
    " it, or tell the user what you would have done."
)
_REVIEWER_DENIED = (
    "{tool} was not run: the reviewer denied it ({reason}). Take another way, or tell the user what"
    " you would have done."
)
_CHANGED = (
    "{tool} was approved, but what it would run has changed since; it was not run. Ask again by"
    " calling it again."
)
_FORBIDDEN = "{tool} was not run: {why}"
_LATE = "nobody answered within 15 minutes, so {tool} was not run"
_UNDELIVERED = "the user could not be asked ({reason}), so {tool} was not run"
_DENIED = "the user did not allow {tool}{reason}"


@dataclass(frozen=True)
class Ask:
    """A question to put to a person."""

    wait: NewWait


@dataclass(frozen=True)
class Undecided:
    """A call that a reviewer is to look at before anybody is asked."""

    decision: Decision
    mark: str


class Gate:
    """The permissions of one turn."""

    def __init__(self, run: TurnRun) -> None:
        """Use the turn's agent and session."""
        self._run = run
        self._workspace = run.ports.workspace(run.turn.agent)
        # Of calls that somebody allowed: what exactly, by their ids.
        self._allowed: dict[str, str] = {}

    def permission(
        self, call: ToolCall, tool: Tool, args: ToolArgs
    ) -> str | Ask | Undecided | None:
        """Return None when the call may run, why it may not, or whom to ask first."""
        run = self._run
        never = self._never(tool, args)
        if never is not None:
            return never
        decision = self._decision(tool, args)
        if decision.verdict is Verdict.ALLOW:
            return None
        if decision.verdict is Verdict.DENY:
            return _FORBIDDEN.format(tool=tool.name, why=decision.why)
        mark = fingerprint(tool.name, call.input, self._workspace)
        if store.granted(run.context.database, run.turn.session_id, [mark]):
            self._allowed[call.id] = mark
            return None
        if run.agent.approvals is not Approvers.HUMAN:
            return Undecided(decision, mark)
        return self._asked(call, decision, mark)

    def reviewed(self, call: ToolCall, undecided: Undecided, review: Review) -> str | Ask | None:
        """Return what follows from a review: as `permission`, but that nobody reviews it again."""
        if review.decision is Decided.ALLOW:
            self._allowed[call.id] = undecided.mark
            return None
        if review.decision is Decided.DENY:
            return _REVIEWER_DENIED.format(
                tool=call.name, reason=review.reason or "no reason given"
            )
        unsure = f"{undecided.decision.why}; the reviewer was unsure: {review.reason}"
        decision = replace(undecided.decision, why=unsure)
        if self._run.agent.approvals is Approvers.REVIEWER:
            return _UNATTENDED.format(tool=call.name, why=unsure)
        return self._asked(call, decision, undecided.mark)

    def _asked(self, call: ToolCall, decision: Decision, mark: str) -> str | Ask:
        if not self._run.attended:
            return _UNATTENDED.format(tool=call.name, why=decision.why)
        return Ask(self._question(call, decision, mark))

    def answered(self, call: ToolCall, tool: Tool, args: ToolArgs, wait: Wait) -> str | None:
        """Return why an answered call may not run, None when it may, this once."""
        if wait.outcome in (Answer.ONCE, Answer.SESSION):
            never = self._never(tool, args)
            if never is not None:
                return never
            # What the configuration forbids by now, nobody can allow.
            decision = self._decision(tool, args)
            if decision.verdict is Verdict.DENY:
                return _FORBIDDEN.format(tool=tool.name, why=decision.why)
            self._allowed[call.id] = wait.payload["fingerprint"]
            return self.changed(call)
        if wait.outcome == EXPIRED:
            return _LATE.format(tool=call.name)
        if wait.outcome == CANCELLED:
            return f"{call.name} was not run: the turn was stopped"
        reason = (wait.answer or {}).get("reason", "")
        if wait.outcome == UNDELIVERED:
            return _UNDELIVERED.format(tool=call.name, reason=reason)
        return _DENIED.format(tool=call.name, reason=f": {reason}" if reason else "")

    def changed(self, call: ToolCall) -> str | None:
        """Return why a call that somebody allowed may not run after all; None when it may.

        Asked again at the very last: a review, hooks and a checkpoint take their time.
        """
        allowed = self._allowed.get(call.id)
        if allowed is None or allowed == fingerprint(call.name, call.input, self._workspace):
            return None
        return _CHANGED.format(tool=call.name)

    def wait_id(self, call: ToolCall) -> str:
        """Return the id of the question about a call."""
        return derive("approval", self._run.turn.id, call.id)

    def _never(self, tool: Tool, args: ToolArgs) -> str | None:
        """Return why nobody can allow a call, whatever the mode and whoever said yes before."""
        return tool.never(args, self._workspace) if tool.never is not None else None

    def _decision(self, tool: Tool, args: ToolArgs) -> Decision:
        run = self._run
        mode = run.agent.permissions
        taint = Taint(self._said) if run.tainted() else None
        return decide(mode, tool, args, self._workspace, taint)

    def _said(self, text: str) -> bool:
        run = self._run
        tools = available(run.ports.tools, run.agent).values()
        names = [tool.name for tool in tools if tool.risk is Risk.NETWORK]
        return mentioned(run.context.database, run.turn.session_id, names, text)

    def _question(self, call: ToolCall, decision: Decision, mark: str) -> NewWait:
        payload = {
            "tool": call.name,
            "input": call.input,
            "folder": str(self._workspace),
            "why": decision.why,
            "may_repeat": may_repeat(call.input),
            "fingerprint": mark,
            "agent": self._run.turn.agent,
        }
        return NewWait(self.wait_id(call), APPROVAL, payload, EXPIRES_SECONDS)
