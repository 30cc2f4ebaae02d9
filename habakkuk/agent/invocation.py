"""Run tools in threads: with a deadline, an interrupt of their own, and a record at their end."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from habakkuk.agent.outage import outlast
from habakkuk.agent.record import CallRecord
from habakkuk.agent.run import TurnRun
from habakkuk.agent.telling import telling
from habakkuk.core.errors import ToolError
from habakkuk.core.ids import derive
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.events.types import EventType
from habakkuk.jobs.types import NewWait
from habakkuk.llm.types import ToolCall
from habakkuk.tools.contract import Resolution, Tool, ToolContext, ToolOutput, WaitFor

_log = get_logger("agent.calls")
_GRACE_SECONDS = 2.0  # between asking a tool to stop and going on without it


@dataclass
class Running:
    """One call, from the wait for a thread on.

    `begun` when the tool has, `ended` when it has too, `done` when that is recorded.
    """

    call: ToolCall
    tool: Tool
    interrupt: Interrupt
    deadline: float
    begun: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)


class Invocation:
    """The threads of one step's calls."""

    def __init__(self, run: TurnRun, step: int, record: CallRecord) -> None:
        """`step` is that of the assistant message."""
        self._run = run
        self._step = step
        self._record = record

    def all(self, started: Sequence[tuple[ToolCall, Tool, Resolution | None]]) -> None:
        """Run these calls at once and wait for every one.

        Each ends with a result or a wait in the journal. Raises Interrupted with the turn.
        """
        self._await([self._launch(*item) for item in started])

    def _launch(self, call: ToolCall, tool: Tool, resolution: Resolution | None) -> Running:
        now = self._run.ports.clock.monotonic()
        item = Running(call, tool, Interrupt(), now + tool.timeout_s)
        self._run.events.emit(
            EventType.TOOL_STARTED, self._step, call=call.id, name=call.name, input=call.input
        )
        self._run.ports.signs.called(self._run.turn.id, telling(call, self._run.ports.redactor))
        self._run.ports.tool_threads.submit(lambda: self._work(item, resolution))
        return item

    def _work(self, item: Running, resolution: Resolution | None) -> None:
        """Run one call in its thread, to its record. The top of that thread's work."""
        try:
            self._settle(item, resolution)
        except Interrupted:
            _log.info("a call ended after its turn", call=item.call.id, tool=item.call.name)
        except Exception:  # noqa: BLE001 - the top of the thread; the turn finds no record
            _log.exception("a call could not be recorded", call=item.call.id)
        finally:
            item.done.set()

    def _settle(self, item: Running, resolution: Resolution | None) -> None:
        """Run one call and record what came of it."""
        try:
            output = self._invoke(item, resolution)
        except WaitFor as wait:
            item.ended.set()
            self._wait_or_refuse(item.call, wait, answered=resolution is not None)
        else:
            item.ended.set()
            self._run.context.failpoints.hit("tool.run.after")
            self._note(item.call, output)

    def _wait_or_refuse(self, call: ToolCall, wait: WaitFor, *, answered: bool) -> None:
        """Open the wait; a call waits once, or a tool could ask for ever."""
        if answered:
            text = f"{call.name} asked again after it was answered and was given up"
            self._note(call, ToolOutput(text, is_error=True))
        else:
            outlast(self._run, lambda: self._record.waits(call, self._opened(call, wait)))

    def _note(self, call: ToolCall, output: ToolOutput) -> None:
        """Record a result; one that happened is not lost because the database is away just now."""
        outlast(self._run, lambda: self._record.result(call, output))

    def _invoke(self, item: Running, resolution: Resolution | None) -> ToolOutput:
        turn = self._run.turn
        context = ToolContext(
            item.call.id,
            turn.session_id,
            turn.id,
            turn.agent,
            item.interrupt,
            self._run.ports.workspace(turn.agent),
            resolution,
            self._run.ports.tool_services,
            self._run.attended,
        )
        try:
            # It may have waited for a thread until its time was over or its turn had ended.
            item.interrupt.check()
            item.begun = True
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

    def wait_id(self, call: ToolCall) -> str:
        """Return the id of the wait that a call opens by itself."""
        return derive("wait", self._run.turn.id, call.id)

    def _opened(self, call: ToolCall, wait: WaitFor) -> NewWait:
        return NewWait(self.wait_id(call), wait.kind, wait.payload, wait.expires_in)

    def _await(self, running: Sequence[Running]) -> None:
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

    def _time_out(self, item: Running) -> None:
        item.interrupt.trip(Reason.CANCELLED)
        if item.done.wait(_GRACE_SECONDS):
            return
        if item.ended.is_set():
            # It has a result; only the record of it takes long.
            item.done.wait()
        else:
            self._note(item.call, ToolOutput(_timed_out(item), is_error=True))


def _timed_out(item: Running) -> str:
    if not item.begun:
        return f"{item.call.name} was not run: too many tools run at this moment; try again later"
    return f"{item.call.name} did not end within {item.tool.timeout_s:g} s and was given up"
