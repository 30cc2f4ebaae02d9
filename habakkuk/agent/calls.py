"""The tool calls of one step: permitted, asked for, run in parallel, journalled before and after.

A crash leaves three kinds of calls: finished ones keep their result, running ones may or may not
have happened and are not repeated unless the tool only reads, and waiting ones wait on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from habakkuk.agent import tool_hooks, traces
from habakkuk.agent.approval.gate import Ask, Gate, Undecided
from habakkuk.agent.approval.reviewer import Decided, Reviewer
from habakkuk.agent.approval.types import APPROVAL
from habakkuk.agent.closing import StepResults, close_calls
from habakkuk.agent.invocation import Invocation
from habakkuk.agent.offered import available
from habakkuk.agent.record import CallRecord
from habakkuk.agent.repair import INTERRUPTED
from habakkuk.agent.run import TurnRun
from habakkuk.agent.snapshots import keep_workspace
from habakkuk.conversations.store import journal
from habakkuk.conversations.types import CallState, JournalEntry
from habakkuk.core.errors import ToolError
from habakkuk.events.types import EventType
from habakkuk.jobs.types import Wait
from habakkuk.llm.types import ToolCall
from habakkuk.tools.contract import Resolution, ToolOutput


@dataclass(frozen=True)
class _Ready:
    """A call that can go on now, with what is recorded of it and the wait that ended."""

    call: ToolCall
    entry: JournalEntry | None
    wait: Wait | None


class StepCalls:
    """The calls of one assistant message."""

    def __init__(self, run: TurnRun, step: int, calls: Sequence[ToolCall], task: str = "") -> None:
        """`step` is that of the assistant message, `task` what the turn's user asked for."""
        self._run = run
        self._step = step
        self._calls = calls
        self._tools = available(run.ports.tools, run.agent)
        self._record = CallRecord(run, step)
        self._invocation = Invocation(run, step, self._record)
        self._gate = Gate(run)
        self._reviewer = Reviewer(run, task)

    def results(self) -> StepResults | None:
        """Run what is left to run and return all results; None when the turn is parked.

        Raises Interrupted when the turn stops meanwhile.
        """
        while True:
            self._run.context.interrupt.check()
            entries = self._entries()
            ended = self._ended_waits(entries)
            ready = [item for call in self._calls if (item := self._ready(call, entries, ended))]
            if ready:
                self._go_on(ready)
            elif all(entries[call.id].state is CallState.DONE for call in self._calls):
                return self._within_budget(entries)
            elif self._run.context.park():
                self._run.events.emit(EventType.TURN_WAITING, self._step)
                return None

    def _within_budget(self, entries: dict[str, JournalEntry]) -> StepResults:
        """Return every result, together within what one step may give a model to read."""
        whole = StepResults.of([entries[call.id] for call in self._calls])
        results = whole.results
        outside = self._run.tainted()
        outputs = [ToolOutput(r.text, r.is_error, outside=outside) for r in results]
        fitted = self._record.fitted(outputs)
        cut = tuple(
            result.model_copy(update={"text": output.text})
            for result, output in zip(results, fitted, strict=True)
        )
        return StepResults(cut, whole.media)

    def stopped(self) -> StepResults:
        """Return results for a stopped turn: what is recorded, else that it was stopped."""
        context = self._run.context
        with context.database.transaction() as work:
            context.guard(work)
            return close_calls(work, self._record.place, self._calls)

    def _entries(self) -> dict[str, JournalEntry]:
        return journal.of_step(self._run.context.database, self._record.place)

    def _ended_waits(self, entries: dict[str, JournalEntry]) -> dict[str, Wait]:
        """Return the waits that were resolved, by id, when an open call may need one."""
        if all(entry.state is CallState.DONE for entry in entries.values()):
            return {}
        with self._run.context.database.transaction() as work:
            waits = self._run.context.waits(work)
        return {wait.id: wait for wait in waits if wait.outcome is not None}

    def _ready(
        self, call: ToolCall, entries: dict[str, JournalEntry], ended: dict[str, Wait]
    ) -> _Ready | None:
        """Return the call when it can go on: new, found running, or no longer waiting."""
        entry = entries.get(call.id)
        if entry is None:
            return _Ready(call, entry, None)
        if entry.state is CallState.DONE:
            return None
        own = ended.get(self._invocation.wait_id(call))
        if entry.state is CallState.RUNNING:
            # A crash while it used its answer: when it runs again it needs the answer again.
            return _Ready(call, entry, own)
        asked = [wait for wait in (ended.get(self._gate.wait_id(call)), own) if wait is not None]
        fresh = [wait for wait in asked if not wait.consumed]
        return _Ready(call, entry, fresh[0]) if fresh else None

    def _go_on(self, ready: Sequence[_Ready]) -> None:
        """Refuse, ask or run each of these; the calls that run do so together."""
        starting: list[_Ready] = []
        for item, verdict in self._decided([(item, self._verdict(item)) for item in ready]):
            if verdict is None:
                starting.append(item)
            elif isinstance(verdict, Ask):
                self._record.asks(item.call, verdict.wait)
            else:
                self._record.result(item.call, ToolOutput(verdict, is_error=True), item.wait)
        hooks = tool_hooks.objections(self._run, [item.call for item in starting])
        starting = self._free(starting, hooks.get)
        calls = [item.call for item in starting]
        held = keep_workspace(self._run, [(self._tools[call.name], call) for call in calls])
        starting = self._free(starting, held.get)
        changed = {item.call.id: self._gate.changed(item.call) for item in starting}
        starting = self._free(starting, changed.get)
        if starting:
            self._start(starting)

    def _free(
        self, items: Sequence[_Ready], objection: Callable[[str], str | None]
    ) -> list[_Ready]:
        """Return the calls that nothing is said against; the others get that as their result."""
        free = []
        for item in items:
            said = objection(item.call.id)
            if said is None:
                free.append(item)
            else:
                self._record.result(item.call, ToolOutput(said, is_error=True), item.wait)
        return free

    def _decided(
        self, judged: Sequence[tuple[_Ready, str | Ask | Undecided | None]]
    ) -> Iterator[tuple[_Ready, str | Ask | None]]:
        """Yield each with its verdict; what is left undecided is reviewed first, all at once."""
        open_calls = [item.call for item, verdict in judged if isinstance(verdict, Undecided)]
        reviews = iter(self._reviewer.review(open_calls) if open_calls else ())
        for item, verdict in judged:
            if not isinstance(verdict, Undecided):
                yield item, verdict
                continue
            review = next(reviews)
            said = {"decision": review.decision, "reason": review.reason, "model": review.model}
            self._run.events.emit(
                EventType.REVIEW, self._step, call=item.call.id, name=item.call.name, **said
            )
            if review.decision is Decided.ALLOW:
                self._record.approved[item.call.id] = review.reason
            yield item, self._gate.reviewed(item.call, verdict, review)

    def _verdict(self, item: _Ready) -> str | Ask | Undecided | None:
        """Return why a call is not run, or whom to ask first; None when it is run."""
        call = item.call
        if call.fault is not None:
            return call.fault
        tool = self._tools.get(call.name)
        if tool is None:
            names = ", ".join(sorted(self._tools)) or "none"
            return f"there is no tool {call.name!r}; the tools are: {names}"
        if item.entry is not None and item.entry.state is CallState.RUNNING:
            return None if tool.runs_again(call.input) else INTERRUPTED
        if item.wait is not None and item.wait.kind != APPROVAL:
            return None
        try:
            args = tool.parse(call.input)
        except ToolError as error:
            return str(error)
        if item.wait is not None:
            return self._gate.answered(call, tool, args, item.wait)
        return self._gate.permission(call, tool, args)

    def _start(self, items: Sequence[_Ready]) -> None:
        context = self._run.context
        context.failpoints.hit("tool.start.before")
        with context.database.transaction() as work:
            context.guard(work)
            journal.start(work, self._record.place, [item.call for item in items])
            for item in items:
                traces.about_to_write(self._run, work, item.call)
            for item in items:
                if item.wait is not None:
                    context.consume(work, item.wait.id)
        context.failpoints.hit("tool.start.after")
        self._invocation.all(
            [(item.call, self._tools[item.call.name], _resolution(item.wait)) for item in items]
        )


def _resolution(wait: Wait | None) -> Resolution | None:
    """Return what the tool itself waited for; an approval is not its business."""
    if wait is None or wait.outcome is None or wait.kind == APPROVAL:
        return None
    return Resolution(wait.outcome, wait.answer)
