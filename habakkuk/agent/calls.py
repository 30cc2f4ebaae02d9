"""Run the tool calls of one step: in parallel, journalled before and after each.

A crash leaves three kinds of calls: finished ones keep their result, running ones may or may not
have happened and are not repeated unless the tool only reads, and waiting ones wait on.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from habakkuk.agent.repair import INTERRUPTED
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import journal
from habakkuk.conversations.types import CallState, JournalEntry
from habakkuk.core.errors import ToolError
from habakkuk.core.ids import derive
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.core.text import clean, shorten
from habakkuk.events.types import EventType
from habakkuk.jobs.types import NewWait, Wait
from habakkuk.llm.types import ToolCall, ToolResult
from habakkuk.tools.contract import Resolution, Tool, ToolContext, ToolOutput, WaitFor

_log = get_logger("agent.calls")
_GRACE_SECONDS = 2.0  # between asking a tool to stop and going on without it
_EXCERPT = 200
STOPPED = "stopped by the user; it may or may not have taken effect"


@dataclass
class _Running:
    """One call in a thread."""

    call: ToolCall
    tool: Tool
    interrupt: Interrupt
    deadline: float
    done: threading.Event = field(default_factory=threading.Event)


class StepCalls:
    """The calls of one assistant message."""

    def __init__(self, run: TurnRun, step: int, calls: Sequence[ToolCall]) -> None:
        """`step` is that of the assistant message."""
        self._run = run
        self._step = step
        self._place = journal.Place(run.turn.session_id, run.turn.id, step)
        self._calls = calls
        self._tools = run.ports.tools.of(run.agent.toolsets)

    def results(self) -> tuple[ToolResult, ...] | None:
        """Run what is left to run and return all results; None when the turn is parked.

        Raises Interrupted when the turn stops meanwhile.
        """
        while True:
            entries = self._entries()
            waits = self._waits(entries)
            ready = [
                call
                for call in self._calls
                if _is_ready(entries.get(call.id), self._wait(call, waits))
            ]
            if ready:
                self._execute(ready, entries, waits)
            elif all(entries[call.id].state is CallState.DONE for call in self._calls):
                return tuple(_result(call, entries[call.id], INTERRUPTED) for call in self._calls)
            elif self._run.context.park():
                self._run.events.emit(EventType.TURN_WAITING, self._step)
                return None

    def stopped(self) -> tuple[ToolResult, ...]:
        """Return results for a stopped turn: what is recorded, else that it was stopped."""
        entries = self._entries()
        return tuple(_result(call, entries.get(call.id), STOPPED) for call in self._calls)

    def _entries(self) -> dict[str, JournalEntry]:
        return journal.of_step(self._run.context.database, self._place)

    def _waits(self, entries: dict[str, JournalEntry]) -> dict[str, Wait]:
        if not any(entry.state is CallState.WAITING for entry in entries.values()):
            return {}
        with self._run.context.database.transaction() as work:
            return {wait.id: wait for wait in self._run.context.waits(work)}

    def _wait(self, call: ToolCall, waits: dict[str, Wait]) -> Wait | None:
        return waits.get(self._wait_id(call))

    def _execute(
        self,
        ready: Sequence[ToolCall],
        entries: dict[str, JournalEntry],
        waits: dict[str, Wait],
    ) -> None:
        starting: list[ToolCall] = []
        for call in ready:
            refusal = self._refusal(call, entries.get(call.id))
            if refusal is None:
                starting.append(call)
            else:
                self._record(call, ToolOutput(refusal, is_error=True))
        if starting:
            self._start(starting, waits)

    def _refusal(self, call: ToolCall, entry: JournalEntry | None) -> str | None:
        """Return why a call is not run; None when it is."""
        if call.fault is not None:
            return call.fault
        tool = self._tools.get(call.name)
        if tool is None:
            names = ", ".join(sorted(self._tools)) or "none"
            return f"there is no tool {call.name!r}; the tools are: {names}"
        if entry is not None and entry.state is CallState.RUNNING and not tool.replayable:
            return INTERRUPTED
        return None

    def _start(self, calls: Sequence[ToolCall], waits: dict[str, Wait]) -> None:
        context = self._run.context
        context.failpoints.hit("tool.start.before")
        with context.database.transaction() as work:
            context.guard(work)
            journal.start(work, self._place, calls)
            for call in calls:
                if self._wait(call, waits) is not None:
                    context.consume(work, self._wait_id(call))
        context.failpoints.hit("tool.start.after")
        running = [self._launch(call, self._wait(call, waits)) for call in calls]
        self._await(running)

    def _launch(self, call: ToolCall, wait: Wait | None) -> _Running:
        tool = self._tools[call.name]
        now = self._run.ports.clock.monotonic()
        item = _Running(call, tool, Interrupt(), now + tool.timeout_s)
        self._run.events.emit(
            EventType.TOOL_STARTED, self._step, call=call.id, name=call.name, input=call.input
        )
        resolution = Resolution(wait.outcome, wait.answer) if wait and wait.outcome else None
        self._run.ports.tool_threads.submit(lambda: self._work(item, resolution))
        return item

    def _work(self, item: _Running, resolution: Resolution | None) -> None:
        """Run one call in its thread, to its record. The top of that thread's work."""
        try:
            output = self._invoke(item, resolution)
            self._run.context.failpoints.hit("tool.run.after")
            self._record(item.call, output)
        except WaitFor as wait:
            self._open_wait(item, wait)
        except Interrupted:
            _log.info("a call ended after its turn", call=item.call.id, tool=item.call.name)
        except Exception:  # noqa: BLE001 - the top of the thread; the turn finds no record
            _log.exception("a call could not be recorded", call=item.call.id)
        finally:
            item.done.set()

    def _invoke(self, item: _Running, resolution: Resolution | None) -> ToolOutput:
        turn = self._run.turn
        context = ToolContext(
            item.call.id,
            turn.session_id,
            turn.id,
            turn.agent,
            item.interrupt,
            self._run.ports.workspace(turn.agent),
            resolution,
        )
        try:
            return item.tool.run(item.tool.parse(item.call.input), context)
        except ToolError as error:
            return ToolOutput(str(error), is_error=True)
        except WaitFor:
            raise
        except Interrupted:
            self._run.context.interrupt.check()
            return ToolOutput(_timed_out(item), is_error=True)
        except Exception as error:  # noqa: BLE001 - the top of foreign code
            _log.exception("a tool failed", tool=item.tool.name)
            return ToolOutput(f"{item.tool.name} failed: {type(error).__name__}", is_error=True)

    def _open_wait(self, item: _Running, wait: WaitFor) -> None:
        context = self._run.context
        opened = NewWait(self._wait_id(item.call), wait.kind, wait.payload, wait.expires_in)
        with context.database.transaction() as work:
            context.guard(work)
            if journal.wait(work, self._place, item.call):
                context.open_wait(work, opened)

    def _await(self, running: Sequence[_Running]) -> None:
        """Wait for every call; end the late ones, and all of them when the turn is interrupted."""
        parent = self._run.context.interrupt

        def stop_all() -> None:
            for item in running:
                item.interrupt.trip(parent.reason or Reason.CANCELLED)
                item.done.set()

        with parent.freeing(stop_all):
            for item in running:
                left = item.deadline - self._run.ports.clock.monotonic()
                if not item.done.wait(max(left, 0)):
                    self._time_out(item)
        parent.check()

    def _time_out(self, item: _Running) -> None:
        item.interrupt.trip(Reason.CANCELLED)
        if item.done.wait(_GRACE_SECONDS):
            return
        self._record(item.call, ToolOutput(_timed_out(item), is_error=True))

    def _record(self, call: ToolCall, output: ToolOutput) -> None:
        context = self._run.context
        result = ToolResult(call_id=call.id, text=clean(output.text), is_error=output.is_error)
        with context.database.transaction() as work:
            context.guard(work)
            stored = journal.end(work, self._place, call, result)
        if not stored:
            _log.info("a result came too late", call=call.id, tool=call.name)
            return
        context.failpoints.hit("tool.record.after")
        self._run.events.emit(
            EventType.TOOL_FINISHED,
            self._step,
            call=call.id,
            error=output.is_error,
            excerpt=shorten(result.text, _EXCERPT),
        )

    def _wait_id(self, call: ToolCall) -> str:
        return derive("wait", self._run.turn.id, call.id)


def _timed_out(item: _Running) -> str:
    return f"{item.call.name} did not end within {item.tool.timeout_s:g} s and was given up"


def _is_ready(entry: JournalEntry | None, wait: Wait | None) -> bool:
    """Whether a call can run now: new, found running after a crash, or no longer waiting."""
    if entry is None or entry.state is CallState.RUNNING:
        return True
    return entry.state is CallState.WAITING and wait is not None and wait.outcome is not None


def _result(call: ToolCall, entry: JournalEntry | None, missing: str) -> ToolResult:
    if entry is None or entry.state is not CallState.DONE:
        return ToolResult(call_id=call.id, text=missing, is_error=True)
    return ToolResult(call_id=call.id, text=entry.text, is_error=entry.is_error)
