"""Output that is long, fast, odd, or read by somebody slow."""

from __future__ import annotations

import time

import pytest

from habakkuk.processes.log import SEGMENT, log_folder, segments
from habakkuk.processes.types import ProcessState
from tests.integration.processes.keeping import Keeping

FLOOD = 100_000_000


@pytest.mark.slow
def test_a_flood_leaves_its_end_at_the_right_offset(keeping: Keeping) -> None:
    """Each line says where it stands, so a byte too much or too little shows."""
    process = keeping.run(f"seq -f '%011.0f' 0 12 {FLOOD - 12}; exit 3")
    seen: list[str] = []
    # Somebody slow reads now and then, and loses what is dropped, but is told so.
    while keeping.state(process).alive:
        seen.append(keeping.call("process_output", id=process, max_bytes=1200).text)
        time.sleep(0.05)
    ended = keeping.ended(process)
    assert (ended.state, ended.code) == (ProcessState.EXITED, 3)
    lines = -(-(FLOOD - 11) // 12)
    part = keeping.desk.read(process, 0, 1 << 30)
    assert part.end == lines * 12
    assert SEGMENT <= len(part.data) <= 2 * SEGMENT
    assert part.start % SEGMENT == 0
    first = -(-part.start // 12) * 12
    kept = part.data[first - part.start :].split()
    assert [int(line) for line in kept] == list(range(first, part.end, 12))
    assert len(segments(log_folder(keeping.stack.home))[process]) == 2
    gap = keeping.call("process_output", id=process, since=1000, max_bytes=1200).text
    assert gap.startswith(f"[{part.start - 1000} bytes from 1000 on are dropped: ")
    assert seen


def test_both_streams_come_in_their_order(keeping: Keeping) -> None:
    process = keeping.run("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    keeping.ended(process)
    assert keeping.printed(process) == b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


def test_bytes_that_are_no_text_are_shown_as_such(keeping: Keeping) -> None:
    process = keeping.run(r"printf 'a\xff\x00b'")
    keeping.ended(process)
    assert keeping.printed(process) == b"a\xff\x00b"
    assert keeping.call("process_output", id=process).text.startswith("a\ufffd\0b\n[bytes 0 to 4")


def test_a_character_that_comes_in_two_pieces_is_read_whole(keeping: Keeping) -> None:
    process = keeping.run(r"printf 'a\xf0\x9f'; read x; printf '\x98\x80b'")
    keeping.until_printed(process, b"\x9f")
    first = keeping.call("process_output", id=process).text
    assert first.startswith("a\n[bytes 0 to 1 of 3; since 1 reads on; ")
    keeping.call("process_write", id=process, stdin="\n")
    keeping.ended(process)
    assert keeping.call("process_output", id=process, since=1).text.startswith("😀b\n[bytes 1 to 6")


def test_the_end_of_a_long_output_is_read_by_a_negative_offset(keeping: Keeping) -> None:
    process = keeping.run("seq 1 100000")
    keeping.ended(process)
    told = keeping.call("process_output", id=process, since=-19).text
    assert told.startswith("99998\n99999\n100000\n[bytes ")


def test_what_it_holds_of_the_home_is_closed_to_it(keeping: Keeping) -> None:
    """The same walls as for exec: no secret in its environment, no way into the home."""
    process = keeping.run("env; ls ../../..; cat ../../../config.yaml; id -un")
    keeping.ended(process)
    printed = keeping.printed(process).decode()
    assert "key-of-the-fake-service" not in printed
    assert "HABAKKUK_AGENT_COMMAND=1" in printed
    assert "DATABASE_URL" not in printed


def test_its_devices_open_by_name(keeping: Keeping) -> None:
    process = keeping.run("read x < /dev/stdin; echo got $x > /dev/stdout; echo e > /dev/stderr")
    keeping.call("process_write", id=process, stdin="this\n")
    assert keeping.ended(process).code == 0
    assert keeping.printed(process) == b"got this\ne\n"
