"""What a worker's arguments ask of Celery."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from habakkuk.core.config.schema import WorkerPools
from workers.worker import serve


class App:
    """Makes a worker that ends at once with a code, and notes what was asked."""

    def __init__(self, code: int | None) -> None:
        self.exitcode = code
        self.asked: dict[str, Any] = {}

    def Worker(self, **options: Any) -> App:
        self.asked = options
        return self

    def start(self) -> None:
        """End at once."""


def test_a_worker_has_as_many_threads_as_the_pools_of_its_queues() -> None:
    app = App(None)
    pools = WorkerPools(turns=12, deliveries=3)

    serve(app, pools, ["--name", "one", "--queues", "turns,turns.here,deliveries"])  # type: ignore[arg-type] # all that it asks for

    assert app.asked["queues"] == ["turns", "turns.here", "deliveries"]
    assert app.asked["concurrency"] == 12 + 12 + 3
    assert app.asked["hostname"] == f"one@{socket.gethostname()}"


@pytest.mark.parametrize(("celerys", "ours"), [(None, 0), (0, 0), (1, 1)])
def test_its_exit_code_is_celerys(celerys: int | None, ours: int) -> None:
    app = App(celerys)

    assert serve(app, WorkerPools(), ["--name", "one", "--queues", "turns"]) == ours  # type: ignore[arg-type] # all that it asks for
