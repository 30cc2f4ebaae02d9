from __future__ import annotations

import threading

from habakkuk.agent.threads import ToolPool


def test_tools_run_beside_each_other() -> None:
    pool, together = ToolPool(), threading.Barrier(3)

    def meet() -> None:
        together.wait(20)

    for _ in range(2):
        pool.submit(meet)
    together.wait(20)
    pool.stop()


def test_the_pool_is_bounded_and_runs_the_rest_in_turn() -> None:
    pool, first, go, second = ToolPool(1), threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        first.set()
        go.wait(20)

    pool.submit(hold)
    pool.submit(second.set)
    assert first.wait(20)
    assert not second.is_set()
    go.set()
    assert second.wait(20)
    pool.stop()


def test_a_stopped_pool_forgets_what_waits() -> None:
    pool, first, go, second = ToolPool(1), threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        first.set()
        go.wait(20)

    pool.submit(hold)
    pool.submit(second.set)
    assert first.wait(20)
    pool.stop()
    go.set()
    assert not second.is_set()
