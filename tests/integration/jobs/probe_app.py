"""The probe with the test handlers."""

from __future__ import annotations

from habakkuk.jobs.probe import Probe
from habakkuk.jobs.types import Queue
from tests.integration.jobs.source import load_source
from workers.probe import run_until_told

if __name__ == "__main__":
    run_until_told(Probe(load_source(), list(Queue)))
