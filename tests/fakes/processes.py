"""A desk for background processes that has one, which never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.processes.log import Part
from habakkuk.processes.types import Judge, NewInput, NewProcess, Process, ProcessState, Written

OUTPUT = b"".join(b"line %d\n" % number for number in range(20_000))
RUNNING = Process(
    id="p_1",
    agent="habakkuk",
    session_id="session-1",
    turn_id="turn-1",
    command="make watch",
    folder="/w",
    place=None,
    seconds=None,
    notify=False,
    state=ProcessState.RUNNING,
    code=None,
    reason="",
    created=datetime(2026, 11, 30, tzinfo=UTC),
    ran=123.0,
    ago=None,
    kill_asked=False,
)


class MemoryDesk:
    """Has `process`; what is started is remembered in `asked`, what is written in `given`."""

    def __init__(self, process: Process = RUNNING) -> None:
        self.process = process
        self.asked: list[NewProcess] = []
        self.given: list[NewInput] = []
        self.written = Written.WRITTEN

    def start(self, new: NewProcess, interrupt: Interrupt) -> Process:
        interrupt.check()
        self.asked.append(new)
        return replace(self.process, id=new.id, agent=new.agent, command=new.command)

    def find(self, agent: str | None, process_id: str) -> Process | None:
        ours = process_id == self.process.id and agent in {None, self.process.agent}
        return self.process if ours else None

    def list(self, agent: str | None = None) -> Sequence[Process]:
        return [self.process] if agent in {None, self.process.agent} else []

    def read(self, process_id: str, since: int, most: int) -> Part:
        end = len(OUTPUT)
        start = max(0, end + since) if since < 0 else min(since, end)
        return Part(start, OUTPUT[start : start + most], 0, end)

    def wait(self, process_id: str, seconds: float, interrupt: Interrupt) -> Process:
        interrupt.check()
        return self.process

    def kill(self, process_id: str, by: str, interrupt: Interrupt) -> Process:
        return replace(self.process, state=ProcessState.KILLED, reason=by, ago=0.0)

    def write(self, new: NewInput, judge: Judge, interrupt: Interrupt) -> Written:
        before = b"".join(one.data for one in self.given)
        if (refusal := judge(before)) is not None:
            raise ToolError(refusal)
        self.given.append(new)
        return self.written
