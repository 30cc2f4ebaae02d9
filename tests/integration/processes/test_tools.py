"""Background processes as an agent uses them."""

from __future__ import annotations

from habakkuk.processes.types import ProcessState
from tests.integration.processes.keeping import Keeping


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
