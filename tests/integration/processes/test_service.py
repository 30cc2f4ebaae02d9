"""Background processes while their service is away, ends or is there twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.processes import desk
from habakkuk.processes.types import ProcessState
from tests.fakes.stack import until
from tests.fakes.toolbox import call
from tests.integration.processes.keeping import TOOLS, Keeping


def test_without_the_service_nothing_starts_and_nothing_begins_later(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping.stop()
    monkeypatch.setattr(desk, "START_SECONDS", 0.3)
    output = keeping.call("exec", command="touch started", background=True)
    assert output.is_error
    assert "does not answer" in output.text
    keeping.start()
    process = keeping.run("echo x")
    keeping.ended(process)
    assert not (keeping.context().workspace / "started").exists()


def test_a_turn_that_is_stopped_takes_its_start_back(keeping: Keeping) -> None:
    keeping.stop()
    where = keeping.context()
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(call, TOOLS["exec"], where, command="touch started", background=True)
        until(lambda: keeping.desk.list("habakkuk"))
        where.interrupt.trip(Reason.CANCELLED)
        with pytest.raises(Interrupted):
            started.result()
    (process,) = keeping.desk.list("habakkuk")
    assert process.state is ProcessState.FAILED
    assert process.reason == "it was not started: the turn that wanted it was stopped"


def test_a_worker_that_ends_leaves_its_start_to_the_next(keeping: Keeping) -> None:
    """The turn goes on elsewhere, where the same call asks for the same process."""
    keeping.stop()
    where = keeping.context(call="the-same")
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(call, TOOLS["exec"], where, command="echo x", background=True)
        until(lambda: keeping.desk.list("habakkuk"))
        where.interrupt.trip(Reason.STOPPING)
        with pytest.raises(Interrupted):
            started.result()
    keeping.start()
    again = keeping.context(call="the-same")
    output = call(TOOLS["exec"], again, command="echo x", background=True)
    assert not output.is_error, output.text


def test_stopping_the_service_ends_all_and_says_nothing(keeping: Keeping) -> None:
    process = keeping.run("trap 'echo asked; exit 0' TERM; echo x; sleep 600 & wait", notify=True)
    keeping.until_printed(process, b"x")
    keeping.stop()
    assert keeping.state(process) is ProcessState.STOPPED
    assert keeping.printed(process) == b"x\nasked\n"
    keeping.start()
    other = keeping.run("true")
    keeping.ended(other)
    assert "when Habakkuk stopped" in keeping.call("process_list").text


def test_a_second_service_of_the_home_waits_for_the_end_of_the_first(keeping: Keeping) -> None:
    first = keeping.keeper
    process = keeping.run("sleep 600")
    second = keeping.start()
    assert not second._holds_home()
    assert keeping.state(process) is ProcessState.RUNNING
    assert first is not None
    first.stop()
    until(lambda: second._opened)
    assert keeping.state(process) is ProcessState.STOPPED


def test_one_whose_row_says_that_it_is_lost_is_ended(keeping: Keeping) -> None:
    """As a keeper finds it that was cut off while another one took over."""
    process = keeping.run("echo $$; sleep 600")
    keeping.until_printed(process, b"\n")
    pid = int(keeping.printed(process))
    keeping.stack.container.database.run(
        text("UPDATE processes SET state = 'lost', finished = now() WHERE id = :id"), id=process
    )
    until(lambda: not Path(f"/proc/{pid}").exists())
    assert keeping.state(process) is ProcessState.LOST
