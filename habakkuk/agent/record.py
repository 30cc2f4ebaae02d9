"""Write what happens to tool calls, under the lease, and show it live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from habakkuk.agent import tool_hooks, traces
from habakkuk.agent.approval.words import question
from habakkuk.agent.buttons import of_approval
from habakkuk.agent.clarify import asking
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import addresses, chat, journal, turns
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage
from habakkuk.core.log import get_logger
from habakkuk.core.text import clean, shorten
from habakkuk.events.types import EventType
from habakkuk.jobs.types import NewWait, Wait
from habakkuk.llm.types import ToolCall, ToolResult
from habakkuk.tools.asking import CLARIFY
from habakkuk.tools.budget import fit
from habakkuk.tools.contract import ToolOutput

_log = get_logger("agent.calls")
_EXCERPT = 200


class CallRecord:
    """The record of the calls of one assistant message. Used by several threads."""

    def __init__(self, run: TurnRun, step: int) -> None:
        """`step` is that of the assistant message."""
        self._run = run
        self._step = step
        self.place = journal.Place(run.turn.session_id, run.turn.id, step)
        # Why a reviewer let a call run, by its id: it stands in the transcript with the result.
        self.approved: dict[str, str] = {}

    def result(self, call: ToolCall, output: ToolOutput, ended: Wait | None = None) -> None:
        """Write a call's result; the first one stands. Raises Interrupted(LEASE_LOST).

        `ended` is a wait that led to it: one that nobody used would keep the turn from parking.
        """
        context = self._run.context
        secrets = self._run.ports.tool_services.secrets
        # Before what is too long is kept whole.
        (output,) = self.fitted([replace(output, text=secrets.redacted(clean(output.text)))])
        text = output.text + self._approval(call)
        result = ToolResult(call_id=call.id, text=text, is_error=output.is_error)
        with context.database.transaction() as work:
            context.guard(work)
            stored = journal.end(work, self.place, call, result, output.media)
            if ended is not None:
                context.consume(work, ended.id)
            if stored and output.outside:
                turns.taint(work, self._run.turn.id)
            elif stored:
                traces.has_read(self._run, work, call, result)
        if not stored:
            _log.info("a result came too late", call=call.id, tool=call.name)
            return
        context.failpoints.hit("tool.record.after")
        tool_hooks.finished(self._run, call, result)
        self._run.events.emit(
            EventType.TOOL_FINISHED,
            self._step,
            call=call.id,
            error=output.is_error,
            excerpt=shorten(result.text, _EXCERPT),
        )

    def _approval(self, call: ToolCall) -> str:
        reason = self.approved.get(call.id)
        return "" if reason is None else f"\n[approved by the reviewer: {clean(reason)}]"

    def fitted(self, outputs: Sequence[ToolOutput]) -> tuple[ToolOutput, ...]:
        """Return outputs within the budget of one step; what is over it is kept to be read on."""
        keep = self._run.ports.tool_services.outputs.keep
        return fit(outputs, partial(keep, self._run.turn.session_id))

    def waits(self, call: ToolCall, wait: NewWait) -> None:
        """Let a running call wait; nothing when it was given up meanwhile."""
        if wait.kind == CLARIFY:
            self._asks_user(call, wait)
            return
        context = self._run.context
        with context.database.transaction() as work:
            context.guard(work)
            if journal.wait(work, self.place, call):
                context.open_wait(work, wait)

    def _asks_user(self, call: ToolCall, wait: NewWait) -> None:
        """Let a call wait for the user and show its question; one at a time in a conversation."""
        run, context = self._run, self._run.context
        context.failpoints.hit("question.ask.before")
        with context.database.transaction() as work:
            addresses.lock_by_id(work, run.turn.conversation_id)
            context.guard(work)
            free = asking.may_ask(work, run)
            if free and journal.wait(work, self.place, call):
                asking.ask(work, run, wait)
        if not free:
            self.result(call, ToolOutput(asking.BUSY, is_error=True))
            return
        context.failpoints.hit("question.ask.after")
        run.events.emit(EventType.QUESTION, self._step, call=call.id, question=wait.id)

    def asks(self, call: ToolCall, wait: NewWait) -> None:
        """Hold a call that was not started until a person answers, and show the question.

        The question is a row of the chat, so that it survives everything and is shown once.
        """
        run, context = self._run, self._run.context
        context.failpoints.hit("approval.ask.before")
        with context.database.transaction() as work:
            addresses.lock_by_id(work, run.turn.conversation_id)
            context.guard(work)
            if journal.hold(work, self.place, call):
                context.open_wait(work, wait)
                row = NewChatMessage(
                    Author.SYSTEM,
                    f"May {run.turn.agent} run {call.name}?",
                    ChatState.SENT,
                    ChatKind.APPROVAL,
                    {"approval": wait.id, **wait.payload},
                    turn_id=run.turn.id,
                    target=run.turn.target,
                    outside=question(wait.payload),
                    buttons=of_approval(wait.id, may_repeat=wait.payload["may_repeat"]),
                )
                chat.add(work, run.turn.conversation_id, row)
        context.failpoints.hit("approval.ask.after")
        run.events.emit(EventType.APPROVAL, self._step, call=call.id, approval=wait.id)
