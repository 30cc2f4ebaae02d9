"""Background processes while workers and their own service are killed."""

from __future__ import annotations

import itertools
import signal
from pathlib import Path

import pytest

from scripts.drills.world import World
from tests.crash.background import Background

_number = itertools.count(1)
# Says that it runs, then counts until it is told to end.
COUNTING = (
    "echo pid $$; i=0; while [ ! -e {name}.go ];"
    " do i=$((i+1)); echo line $i; sleep 0.01; done; echo last $i; exit 5"
)
# Leaves a trace that can be counted, then waits to be told to end.
MARKING = "echo x >> {name}.effect; echo pid $$; while [ ! -e {name}.go ]; do sleep 0.02; done"


@pytest.fixture
def background(bare_world: World) -> Background:
    return Background(bare_world, f"bg{next(_number)}")


def _worker(background: Background, name: str, **variables: str) -> None:
    background.world.start_worker(f"{background.name}-{name}", **variables)
    background.world.await_workers(f"{background.name}-{name}")


def _kill(world: World, name: str) -> None:
    """Kill the service or a worker, and wait until that is seen."""
    world.workers[name].kill()
    if name == "processes":
        world.await_true(lambda: not world.records.kept(), "the end of the service")


def _dies(world: World, name: str, point: str) -> None:
    program = world.workers[name]
    world.await_true(lambda: program.code is not None, f"the death at {point}")
    assert program.code == -signal.SIGKILL
    assert world.fired.read_text().splitlines()[-1].split()[0] == point


def _let_go(background: Background) -> None:
    (background.workspace / f"{background.name}.go").touch(mode=0o644)


def _pid(background: Background) -> int:
    """Return the command's process once it says that it runs."""
    printed = background.await_printed(b"pid ").split()
    return int(printed[printed.index(b"pid") + 1])


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_processes_live_while_workers_are_killed_and_all_of_them_are_restarted(
    background: Background,
) -> None:
    world = background.world
    world.start_keeper()
    for name in ("one", "two"):
        _worker(background, name)
    background.answer(background.start(COUNTING.format(name=background.name)))
    pid = _pid(background)
    for name in ("one", "two"):
        _kill(world, f"{background.name}-{name}")
    before = len(background.printed())
    for name in ("three", "four"):
        _worker(background, name)
    for name in ("three", "four"):
        world.workers[f"{background.name}-{name}"].terminate(20)
    _worker(background, "five")
    # Any worker acts on it: this one has never seen it.
    background.answer(background.ask("process_output", {"id": background.row()["id"]}))
    assert _runs(pid)
    _let_go(background)
    assert " exited with code 5 after " in background.told_once()
    lines = background.printed().decode().splitlines()
    last = int(lines[-1].removeprefix("last "))
    assert lines[:-1] == [f"pid {pid}", *(f"line {number}" for number in range(1, last + 1))]
    assert len(background.printed()) > before
    assert background.row()["state"] == "exited"


@pytest.mark.parametrize(
    ("point", "state", "effects"),
    [
        ("process.claim.after", "lost", {0}),
        # It was started and dies with the service, before or after it leaves its trace.
        ("process.start.after", "lost", {0, 1}),
        ("process.end.before", "lost", {1}),
        ("process.end.after", "exited", {1}),
        ("admit.commit.before", "exited", {1}),
        ("admit.commit.after", "exited", {1}),
        ("process.notice.after", "exited", {1}),
    ],
)
def test_the_service_is_killed_at_each_of_its_steps(
    point: str, state: str, effects: set[int], background: Background
) -> None:
    world = background.world
    world.start_keeper(DRILL_FAILPOINT=f"{point}=#1")
    _worker(background, "one")
    text = background.start(MARKING.format(name=background.name))
    background.workspace.mkdir(parents=True, exist_ok=True)
    _let_go(background)
    _dies(world, "processes", point)
    world.await_true(lambda: not world.records.kept(), "the end of the service")
    world.start_keeper()
    assert background.await_state("lost", "exited")["state"] == state
    told = background.told_once()
    assert (" was lost" in told) is (state == "lost")
    background.answer(text)
    trace = background.workspace / f"{background.name}.effect"
    assert (trace.read_text().count("x") if trace.exists() else 0) in effects
    assert len(background.rows()) == 1


def test_commands_die_with_their_service_and_are_told_as_lost(background: Background) -> None:
    world = background.world
    world.start_keeper()
    _worker(background, "one")
    command = "setsid sleep 6000 & echo daemon $!; echo pid $$; wait"
    background.answer(background.start(command))
    pid = _pid(background)
    printed = background.printed().split()
    daemon = int(printed[printed.index(b"daemon") + 1])
    _kill(world, "processes")
    world.await_true(lambda: not _runs(pid) and not _runs(daemon), "the end of the command")
    assert background.row()["state"] == "running"
    world.start_keeper()
    assert " was lost after at most " in background.told_once()
    assert background.row()["state"] == "lost"


def test_a_worker_that_dies_after_asking_starts_nothing_twice(background: Background) -> None:
    world = background.world
    world.start_keeper()
    _worker(background, "armed", DRILL_FAILPOINT="process.ask.after=#1")
    text = background.start(MARKING.format(name=background.name))
    _dies(world, f"{background.name}-armed", "process.ask.after")
    pid = _pid(background)
    _worker(background, "rescue")
    assert f"{background.row()['id']} runs" in background.answer(text)
    assert _runs(pid)
    _let_go(background)
    assert " exited with code 0 after " in background.told_once()
    assert (background.workspace / f"{background.name}.effect").read_text() == "x\n"


def test_a_worker_that_dies_after_writing_writes_nothing_twice(background: Background) -> None:
    world = background.world
    world.start_keeper()
    _worker(background, "one")
    background.answer(background.start("while read line; do echo got $line; done"))
    _kill(world, f"{background.name}-one")
    _worker(background, "armed", DRILL_FAILPOINT="process.give.after=#1")
    process = background.row()["id"]
    text = background.ask("process_write", {"id": process, "stdin": "this\n"})
    _dies(world, f"{background.name}-armed", "process.give.after")
    _worker(background, "rescue")
    assert "Wrote 5 bytes." in background.answer(text)
    background.answer(background.ask("process_write", {"id": process, "stdin": "", "eof": True}))
    background.told_once()
    assert background.printed() == b"got this\n"


def test_input_that_the_killed_service_had_taken_is_not_told_as_written(
    background: Background,
) -> None:
    world = background.world
    world.start_keeper(DRILL_FAILPOINT="process.take.after=#1")
    _worker(background, "one")
    background.answer(background.start("while read line; do echo got $line; done"))
    text = background.ask("process_write", {"id": background.row()["id"], "stdin": "this\n"})
    _dies(world, "processes", "process.take.after")
    world.await_true(lambda: not world.records.kept(), "the end of the service")
    world.start_keeper()
    assert "takes no more input" in background.answer(text)
    assert " was lost" in background.told_once()


def test_a_process_lives_and_ends_while_postgresql_is_away(background: Background) -> None:
    world = background.world
    world.start_keeper()
    _worker(background, "one")
    background.answer(background.start(COUNTING.format(name=background.name)))
    pid = _pid(background)
    world.postgres.kill()
    assert _runs(pid)
    _let_go(background)
    world.await_true(lambda: not _runs(pid), "the end of the command")
    world.postgres.start()
    assert " exited with code 5 after " in background.told_once()
    assert background.printed().splitlines()[-1].startswith(b"last ")
