"""Background processes as an agent uses them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pytest
from sqlalchemy import text

from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.processes import desk, store
from habakkuk.processes.desk import MOST_ENDED, MOST_RUNNING
from habakkuk.processes.types import NewInput, ProcessState
from habakkuk.tools.commands import Commands, Order
from habakkuk.tools.detached import Detached, Outcome
from habakkuk.tools.sandbox.contract import Sheet
from tests.fakes.stack import until
from tests.fakes.toolbox import call
from tests.integration.processes.keeping import TOOLS, Keeping


def test_a_process_runs_on_and_its_output_is_read_bit_by_bit(keeping: Keeping) -> None:
    process = keeping.run("echo one; read line; echo two $line; read line; echo three >&2; exit 3")
    keeping.until_printed(process, b"one\n")
    first = keeping.call("process_output", id=process).text
    assert first.startswith("one\n[bytes 0 to 4 of 4; since 4 reads on; it runs, for ")
    assert keeping.call("process_write", id=process, stdin="x\n").text == "Wrote 2 bytes."
    keeping.until_printed(process, b"two x\n")
    second = keeping.call("process_output", id=process, since=4).text
    assert second.startswith("two x\n[bytes 4 to 10 of 10; ")
    closed = keeping.call("process_write", id=process, stdin="", eof=True)
    assert closed.text == "Wrote 0 bytes and closed its input."
    waited = keeping.call("process_wait", id=process, timeout_seconds=60).text
    assert waited.startswith("one\ntwo x\nthree\n[bytes 0 to 16 of 16; it exited with code 3 after")
    assert keeping.state(process) is ProcessState.EXITED


def test_input_of_a_process_that_has_closed_it_is_refused(keeping: Keeping) -> None:
    process = keeping.run("exec <&-; echo closed; sleep 600")
    keeping.until_printed(process, b"closed")
    output = keeping.call("process_write", id=process, stdin="x\n")
    assert output.is_error
    assert "takes no more input" in output.text


def test_input_that_is_not_read_waits_and_has_a_limit(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe holds 64 kB; what comes after is kept, up to a megabyte."""
    monkeypatch.setattr(desk, "_WRITE_SECONDS", 0.5)
    process = keeping.run("sleep 600")
    told = [keeping.call("process_write", id=process, stdin="x" * 100_000).text for _ in range(2)]
    assert told == [f"{process} does not read its input just now; it is kept for it."] * 2
    kept = keeping.keeper
    assert kept is not None
    refused: list[bool] = []
    kept._running[process].give(b"x" * 900_000, refused.append, eof=False)
    assert refused == [False]


def test_a_process_belongs_to_its_agent(keeping: Keeping) -> None:
    process = keeping.run("sleep 600")
    for name in ("process_output", "process_wait", "process_kill", "process_write"):
        more = {"stdin": "x"} if name == "process_write" else {}
        output = keeping.call(name, "careful", id=process, **more)
        assert output.is_error
        assert "no background process of that id" in output.text
    assert keeping.call("process_list", "careful").text == "There are no background processes."
    assert keeping.call("process_list").text.startswith(f"{process} runs, for ")


def test_killing_ends_daemons_too_and_says_who_did_it(keeping: Keeping) -> None:
    process = keeping.run(
        "trap 'echo asked; exit 0' TERM; setsid sleep 6000 & echo $!; while :; do sleep 0.1; done"
    )
    keeping.until_printed(process, b"\n")
    daemon = int(keeping.printed(process).split()[0])
    output = keeping.call("process_kill", id=process)
    assert not output.is_error
    assert "was killed after" in output.text
    assert "by process_kill" in output.text
    assert keeping.printed(process).endswith(b"asked\n")
    assert not Path(f"/proc/{daemon}").exists()
    # Again it changes nothing.
    assert keeping.call("process_kill", id=process).text.startswith(f"{process} was killed")


def test_a_process_that_will_not_end_is_killed(keeping: Keeping) -> None:
    process = keeping.run("trap '' TERM; echo deaf; while :; do sleep 1; done")
    keeping.until_printed(process, b"deaf")
    assert "was killed" in keeping.call("process_kill", id=process).text


def test_what_it_started_ends_with_it(keeping: Keeping) -> None:
    process = keeping.run("setsid sleep 6000 >/dev/null 2>&1 & echo $!")
    assert keeping.ended(process).code == 0
    daemon = int(keeping.printed(process))
    assert not Path(f"/proc/{daemon}").exists()


def test_one_that_closes_its_output_runs_on(keeping: Keeping) -> None:
    process = keeping.run("echo last; exec >&- 2>&-; read x; exit 7")
    keeping.until_printed(process, b"last")
    assert keeping.state(process) is ProcessState.RUNNING
    keeping.call("process_write", id=process, stdin="\n")
    assert keeping.ended(process).code == 7


def test_its_time_is_limited_when_that_is_asked_for(keeping: Keeping) -> None:
    process = keeping.run("sleep 600", timeout_seconds=0.2)
    ended = keeping.ended(process)
    assert ended.state is ProcessState.TIMED_OUT
    waited = keeping.call("process_wait", id=process).text
    assert waited.startswith("[no output; it was killed after ")


def test_waiting_ends_when_the_time_is_over(keeping: Keeping) -> None:
    process = keeping.run("echo x; sleep 600")
    keeping.until_printed(process, b"x")
    output = keeping.call("process_wait", id=process, timeout_seconds=0.1)
    assert output.text.startswith("x\n[bytes 0 to 2 of 2; since 2 reads on; it runs, for ")


def test_an_agent_has_sixteen_at_most(keeping: Keeping) -> None:
    running = [keeping.run("sleep 600") for _ in range(MOST_RUNNING)]
    output = keeping.call("exec", command="sleep 600", background=True)
    assert output.is_error
    assert "16 background processes run already" in output.text
    assert keeping.run("sleep 600", "other")
    keeping.call("process_kill", id=running[0])
    assert keeping.run("sleep 600")


def test_a_storm_of_starts_leaves_no_more_than_the_limit(keeping: Keeping) -> None:
    """All at once, over several connections: each takes a place or is refused."""
    with ThreadPoolExecutor(24) as pool:
        starts = [
            pool.submit(keeping.call, "exec", command="sleep 600", background=True)
            for _ in range(24)
        ]
        outputs = [start.result() for start in starts]
    assert sum(not output.is_error for output in outputs) == MOST_RUNNING, outputs
    assert len(keeping.desk.list("habakkuk")) == MOST_RUNNING


def test_the_same_call_starts_nothing_twice(keeping: Keeping) -> None:
    """As a call runs again that a crash interrupted."""
    where = keeping.context(call="the-same")
    arguments = {"command": "echo x >> effect; sleep 600", "background": True}
    told = {call(TOOLS["exec"], where, **arguments).text.split()[0] for _ in range(3)}
    assert len(told) == 1
    effect = where.workspace / "effect"
    until(lambda: effect.exists() and effect.read_text())
    assert effect.read_text() == "x\n"
    assert len(keeping.desk.list("habakkuk")) == 1


def test_fifty_that_ended_are_remembered_and_their_output_goes_with_them(
    keeping: Keeping,
) -> None:
    first = keeping.run("echo first")
    keeping.ended(first)
    _fill(keeping, MOST_ENDED)
    last = keeping.run("echo last")
    keeping.ended(last)
    # The first may be gone before the last has ended: it is tidied after every end.
    until(lambda: len(keeping.desk.list("habakkuk")) == MOST_ENDED)
    assert keeping.desk.find(None, first) is None
    assert keeping.printed(last) == b"last\n"
    until(lambda: keeping.printed(first) == b"")


def _fill(keeping: Keeping, count: int) -> None:
    """Add processes that have ended."""
    keeping.stack.container.database.run(
        text(
            "INSERT INTO processes"
            " (id, agent, session_id, turn_id, command, folder, state, finished)"
            " SELECT 'p_' || n, 'habakkuk', 's', 't', 'true', '/', 'exited', now()"
            " FROM generate_series(1, :count) n"
        ),
        count=count,
    )


def test_a_command_that_cannot_be_started_is_an_error_at_once(keeping: Keeping) -> None:
    where = keeping.context()
    (where.workspace / "gone").mkdir(parents=True)
    keeper = keeping.keeper
    assert keeper is not None
    keeper._ports = replace(keeper._ports, commands=_Refusing())
    output = call(TOOLS["exec"], where, command="true", background=True)
    assert output.is_error
    assert output.text == "commands are refused here"


class _Refusing(Commands):
    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
        raise ToolError("commands are refused here")


def test_a_sandbox_that_takes_long_to_be_made_holds_up_nothing_else(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, sheet = threading.Event(), Commands.sheet

    def slow(self: Commands, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
        if "slow" in order.script:
            made.wait(60)
        return sheet(self, order, workspace, interrupt)

    monkeypatch.setattr(Commands, "sheet", slow)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(keeping.run, "read line; echo slow $line")
        until(lambda: any("slow" in found.command for found in keeping.desk.list()))
        (late,) = keeping.desk.list()
        quick = keeping.run("read line; echo quick $line", notify=False)
        keeping.call("process_write", id=quick, stdin="one\n")
        assert keeping.ended(quick).state is ProcessState.EXITED
        # It is not there yet, so that this waits for it.
        assert "is kept for it" in keeping.call("process_write", id=late.id, stdin="two\n").text
        made.set()
        assert waiting.result() == late.id
    assert keeping.ended(late.id).state is ProcessState.EXITED
    assert keeping.printed(late.id) == b"slow two\n"


def test_one_that_is_told_to_end_before_it_begins_ends_as_it_was_told(keeping: Keeping) -> None:
    where, ended = keeping.context(), SimpleQueue[Outcome]()
    where.workspace.mkdir(parents=True, exist_ok=True)
    order = Order("sleep 600", where.workspace, None, None, where.agent)
    sheet = where.services.commands.sheet(order, where.workspace, Interrupt())
    running = Detached(sheet, lambda _: None, ended.put)
    running.end()
    assert ended.get(timeout=60).failure is None


class _Pulling(Commands):
    """A sandbox that takes as long as it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()

    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
        self.begun.set()
        assert interrupt.wait(60)
        interrupt.check()
        raise AssertionError("it was interrupted")


@pytest.fixture
def pulling(keeping: Keeping) -> _Pulling:
    made, keeper = _Pulling(), keeping.keeper
    assert keeper is not None
    keeper._ports = replace(keeper._ports, commands=made)
    return made


def test_a_sandbox_that_is_being_made_is_let_go_with_the_service(
    keeping: Keeping, pulling: _Pulling
) -> None:
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(keeping.call, "exec", command="echo x", background=True)
        assert pulling.begun.wait(60)
        (process,) = keeping.desk.list("habakkuk")
        keeping.stop()
        assert keeping.state(process.id) is ProcessState.STOPPED
        assert asked.result().text.startswith(f"{process.id} was ended, when Habakkuk stopped")


def test_a_sandbox_that_is_being_made_is_let_go_by_a_kill(
    keeping: Keeping, pulling: _Pulling
) -> None:
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(keeping.call, "exec", command="echo x", background=True)
        assert pulling.begun.wait(60)
        (process,) = keeping.desk.list("habakkuk")
        keeping.call("process_kill", id=process.id)
        assert keeping.ended(process.id).state is ProcessState.KILLED
        asked.result()


def test_a_command_that_nobody_can_allow_is_not_typed_in_pieces(keeping: Keeping) -> None:
    # Harmless should it get through: there is no such program.
    process = keeping.run("bash")
    first = keeping.call("process_write", id=process, stdin="echo in; mkfs.nosuch-pro")
    assert not first.is_error
    second = keeping.call("process_write", id=process, stdin="gram /dev/sda\n")
    assert second.is_error
    assert "write over the disk /dev/sda" in second.text
    # The line can go on in another way.
    assert not keeping.call("process_write", id=process, stdin="gram\necho out\n").is_error
    keeping.until_printed(process, b"out\n")
    assert b"/dev/sda" not in keeping.printed(process)


def test_pieces_that_come_at_once_are_judged_one_after_the_other(keeping: Keeping) -> None:
    process = keeping.run("cat")
    pieces = ["mkfs.nosuch-program", " /dev/sda"]
    with ThreadPoolExecutor(2) as pool:
        told = [
            pool.submit(keeping.call, "process_write", id=process, stdin=piece) for piece in pieces
        ]
        outputs = {piece: done.result() for piece, done in zip(pieces, told, strict=True)}
    typed = keeping.stack.container.database.run(text("SELECT typed FROM processes"))[0].typed
    # In the other order they make no command.
    assert bytes(typed) in {b"mkfs.nosuch-program", b" /dev/sdamkfs.nosuch-program"}
    assert not outputs["mkfs.nosuch-program"].is_error


def test_input_after_input_that_nobody_judged_is_judged_again(keeping: Keeping) -> None:
    process, database = keeping.run("cat"), keeping.stack.container.database
    first, second = (NewInput(process, key, b"x", eof=False) for key in ("a", "b"))
    with database.transaction() as work:
        seen = store.typed(work, first)
        assert seen is not None
        assert store.give(work, first, seen.inputs)
        assert not store.give(work, second, seen.inputs)
        # What is known already is given once, whatever came since.
        assert store.typed(work, first) is None
        assert store.give(work, first, seen.inputs)
    keeping.until_printed(process, b"x")
    assert keeping.printed(process) == b"x"


def test_what_was_typed_is_kept_to_its_end_and_gone_with_the_process(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_MOST_TYPED", 8)
    process, database = keeping.run("cat"), keeping.stack.container.database
    for piece in ("first\n", "second\n"):
        keeping.call("process_write", id=process, stdin=piece)
    query = text("SELECT typed FROM processes")
    assert bytes(database.run(query)[0].typed) == b"\nsecond\n"
    keeping.call("process_write", id=process, stdin="", eof=True)
    keeping.ended(process)
    assert bytes(database.run(query)[0].typed) == b""


def test_a_folder_that_was_exchanged_is_not_entered(keeping: Keeping) -> None:
    keeping.stop()
    where = keeping.context()
    folder = where.workspace / "work"
    folder.mkdir(parents=True)
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(
            call, TOOLS["exec"], where, command="pwd", background=True, cwd="work"
        )
        until(lambda: keeping.desk.list("habakkuk"))
        folder.rename(where.workspace / "before")
        folder.mkdir()
        keeping.start()
        process = started.result().text.split()[0]
    assert keeping.ended(process).code == 127
    assert b"exchanged" in keeping.printed(process)
