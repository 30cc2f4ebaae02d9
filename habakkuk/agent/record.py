"""Write what happens to tool calls, under the lease, and show it live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from habakkuk.agent import tool_hooks, traces
from habakkuk.agent.approval import words as approval_words
from habakkuk.agent.buttons import of_approval, of_question
from habakkuk.agent.clarify import store as clarify
from habakkuk.agent.clarify import words as clarify_words
from habakkuk.agent.putting import put
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import journal, turns
from habakkuk.core.log import get_logger
from habakkuk.core.text import clean, shorten
from habakkuk.db.engine import Work
from habakkuk.events.types import EventType
from habakkuk.jobs.types import NewWait, Wait
from habakkuk.llm.types import ToolCall, ToolResult
from habakkuk.tools.asking import CLARIFY
from habakkuk.tools.budget import fit
from habakkuk.tools.contract import ToolOutput

_log = get_logger("agent.calls")
_EXCERPT = 200


class _Busy(Exception):
    """Another question of the conversation is open; nothing was written."""


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
        """Let a running call wait; nothing when it was given up meanwhile.

        Where it asks the user the question is shown; one at a time in a conversation.
        """
        if wait.kind == CLARIFY:
            questions = wait.payload["questions"]
            shown = clarify_words.put(self._run.turn.agent, questions)
            shown = replace(shown, buttons=of_question(wait.id, questions))
            try:
                put(self._run, self._step, call, wait, shown, partial(self._named, call, wait))
            except _Busy:
                self.result(call, ToolOutput(clarify_words.BUSY, is_error=True))
            return
        context = self._run.context
        with context.database.transaction() as work:
            context.guard(work)
            if journal.wait(work, self.place, call):
                context.open_wait(work, wait)

    def _named(self, call: ToolCall, wait: NewWait, work: Work) -> bool:
        """Note that a call waits for the user, and its question as the conversation's."""
        conversation = self._run.turn.conversation_id
        if clarify.open_in(work, conversation) is not None:
            raise _Busy
        waits = journal.wait(work, self.place, call)
        if waits:
            clarify.name(work, conversation, wait.id)
        return waits

    def asks(self, call: ToolCall, wait: NewWait) -> None:
        """Hold a call that was not started until a person answers, and show the question."""
        buttons = of_approval(wait.id, may_repeat=wait.payload["may_repeat"])
        shown = replace(approval_words.put(wait.payload), buttons=buttons)
        held = partial(journal.hold, place=self.place, call=call)
        put(self._run, self._step, call, wait, shown, held)
