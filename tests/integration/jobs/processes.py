"""Whole worker processes with test handlers, for the tests that kill them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[3]
HERE = "tests.integration.jobs"


class Process:
    """One started program with its log."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self.popen = subprocess.Popen(
                [sys.executable, *argv],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()

    def terminate(self) -> None:
        self.popen.send_signal(signal.SIGTERM)

    def has_ended(self) -> bool:
        return self.popen.poll() is not None

    def text(self) -> str:
        return self.log.read_text()


class Programs:
    """Starts processes on one database and Redis, and kills at the end what still runs."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        self._folder = folder
        self._started: list[Process] = []
        self.effects = folder / "effects"
        self.effects.touch()
        self.environment = {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "TEST_EFFECTS": str(self.effects),
        }

    def start(self, *argv: str, **environment: str) -> Process:
        log = self._folder / f"{len(self._started)}.log"
        process = Process(argv, {**self.environment, **environment}, log)
        self._started.append(process)
        return process

    def worker(self, name: str, **environment: str) -> Process:
        options = ("-P", "threads", "-c", "236", "-n", f"{name}@%h")
        quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
        celery = ("-m", "celery", "-A", f"{HERE}.worker_app:celery", "worker")
        return self.start(*celery, *options, *quiet, **environment)

    def done_effects(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.effects.read_text().splitlines()]

    def close(self) -> None:
        for process in self._started:
            if not process.has_ended():
                process.kill()
