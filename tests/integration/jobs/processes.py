"""Whole worker processes with test handlers, for the tests that kill them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from habakkuk.ops import processes
from scripts.drills.nursery import Fork, Nursery

ROOT = Path(__file__).parents[3]


def start_nursery(folder: Path) -> Nursery:
    """Start what forks the workers: it has done the imports, most of a worker's start."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return Nursery(environment, folder / "nursery.log", "tests.integration.jobs.worker_app")


class Programs:
    """Starts workers on one database and Redis, and kills at the end what still runs."""

    def __init__(self, nursery: Nursery, folder: Path, database_url: str, redis_url: str) -> None:
        self._nursery = nursery
        self._folder = folder
        self._started: list[Fork] = []
        self.effects = folder / "effects"
        self.effects.touch()
        self.environment = {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "TEST_EFFECTS": str(self.effects),
        }

    def worker(self, name: str, **environment: str) -> Fork:
        options = processes.worker(name).command[3:]
        variables = {**os.environ, "PYTHONPATH": str(ROOT), **self.environment, **environment}
        log = self._folder / f"{len(self._started)}.log"
        started = self._nursery.start(name, options, variables, log)
        self._started.append(started)
        return started

    def done_effects(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.effects.read_text().splitlines()]

    def close(self) -> None:
        for worker in self._started:
            if not worker.has_ended():
                worker.kill()
