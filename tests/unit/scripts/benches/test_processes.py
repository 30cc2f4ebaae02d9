from __future__ import annotations

import os

import pytest

from scripts.benches.processes import Stat, cpu_ms, everything, family, parse_pss, parse_stat

_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def _stat(pid: int, parent: int, ms: float = 0.0, reaped_ms: float = 0.0) -> Stat:
    return Stat(pid, parent, ms, reaped_ms, threads=1)


def test_a_name_with_brackets_and_spaces_does_not_shift_the_fields() -> None:
    line = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 5 0 99 1 1"
    assert parse_stat(line) == Stat(42, 7, 30 * _TICK_MS, 70 * _TICK_MS, 5)


def test_this_process_is_found_with_its_parent() -> None:
    assert everything()[os.getpid()].parent == os.getppid()


def test_a_family_holds_grandchildren_and_nobody_elses() -> None:
    machine = {s.pid: s for s in (_stat(1, 0), _stat(2, 1), _stat(3, 2), _stat(4, 1))}
    assert {s.pid for s in family(2, machine)} == {2, 3}


def test_a_process_that_ended_has_no_family() -> None:
    assert family(9, {}) == []


def test_cpu_of_children_that_ended_counts() -> None:
    machine = {s.pid: s for s in (_stat(1, 0, 5, 100), _stat(2, 1, 7))}
    assert cpu_ms(1, machine) == 112


def test_memory_is_the_shared_out_part_in_megabytes() -> None:
    text = "560000-7ff000 ---p 00000000 00:00 0 [rollup]\nRss: 9000 kB\nPss: 2000 kB\n"
    assert parse_pss(text) == pytest.approx(2.048)


def test_a_file_without_it_is_an_error_and_not_nothing() -> None:
    with pytest.raises(ValueError, match="Pss"):
        parse_pss("Rss: 1 kB\n")
