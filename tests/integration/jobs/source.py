"""A container with one handler, `play`, that does what a job's payload says."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.redaction import Redactor
from habakkuk.core.redis import RedisGate
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.contract import JobContext, JobHandler
from habakkuk.jobs.types import Job, JobState, NewWait, Queue
from habakkuk.jobs.wake import BackgroundWake, CelerySender, Wake

_NOTE = text(
    "INSERT INTO channel_state (channel, account, name, value)"
    " VALUES ('test', :job, :name, CAST(:value AS jsonb)) ON CONFLICT DO NOTHING"
)


class Play:
    """`steps` of the payload in order: effect, kill-first, sleep, hang, progress, wait."""

    kind = "play"
    queue = Queue.TURNS

    def run(self, context: JobContext) -> None:
        for step in context.job.payload.get("steps", []):
            name, _, value = step.partition(":")
            if name == "wait":
                if self._waits(context, value):
                    return
            else:
                self._step(context, name, value)

    def _waits(self, context: JobContext, wait: str) -> bool:
        with context.database.transaction() as work:
            context.guard(work)
            context.open_wait(work, NewWait(wait, "approval"))
        return context.park()

    def _step(self, context: JobContext, name: str, value: str) -> None:
        if name == "effect":
            self._effect(context, value)
        elif name == "kill-first":
            self._kill(context, int(value))
        elif name == "sleep":
            context.interrupt.wait(float(value))
            context.interrupt.check()
        elif name == "hang":
            threading.Event().wait(float(value))
        elif name == "progress":
            with context.database.transaction() as work:
                context.guard_change(work)
                context.progressed(work)
        else:
            raise AssertionError(f"no such step: {name}")

    def lock(self, work: Work, job: Job) -> None:
        return None

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:
        work.execute(_NOTE, job=job.id, name="ended", value=json.dumps([str(state), reason]))

    def _kill(self, context: JobContext, most: int) -> None:
        """Kill the first so many processes that run the job, whatever its row forgets of that."""
        killed = Path(os.environ["TEST_EFFECTS"]).with_name(f"killed-by-{context.job.id}")
        before = len(killed.read_bytes()) if killed.exists() else 0
        if before < most:
            killed.write_bytes(b"x" * (before + 1))
            os.kill(os.getpid(), signal.SIGKILL)

    def _effect(self, context: JobContext, value: str) -> None:
        line = {"job": context.job.id, "note": value, "pid": os.getpid(), "at": time.monotonic()}
        with Path(os.environ["TEST_EFFECTS"]).open("a") as out:
            out.write(json.dumps(line) + "\n")


@dataclass(frozen=True)
class Source:
    """What a Host needs, for tests."""

    settings: Settings
    database: Database
    redis: RedisGate | None
    failpoints: Failpoints
    rewake: Wake
    handlers: Mapping[str, JobHandler] = field(default_factory=lambda: {"play": Play()})
    redactor: Redactor = field(default_factory=Redactor)

    def warm(self) -> None:
        return None

    def maintain(self) -> None:
        return None

    def close(self) -> None:
        self.rewake.stop()
        self.database.dispose()


def build_source(settings: Settings) -> Source:
    assert settings.database_url is not None
    assert settings.redis_url is not None
    database = Database(settings.database_url)
    return Source(
        settings,
        database,
        RedisGate(settings.redis_url),
        Failpoints(os.environ.get("HABAKKUK_FAILPOINT", "")),
        BackgroundWake(CelerySender(settings.redis_url), database),
    )


def load_source() -> Source:
    return build_source(load_settings())
