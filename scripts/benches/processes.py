"""What processes take, from /proc: CPU time, shared-out memory, threads, by kind of process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
_KIB = 1024


@dataclass(frozen=True)
class Stat:
    """One line of /proc/PID/stat. `ms` is its own CPU time, `reaped_ms` that of ended children."""

    pid: int
    parent: int
    ms: float
    reaped_ms: float
    threads: int


def parse_stat(line: str) -> Stat:
    """Read the line; the name in it may hold spaces and brackets."""
    before, _, after = line.rpartition(")")
    fields = after.split()
    user, system, child_user, child_system = (int(field) for field in fields[11:15])
    return Stat(
        pid=int(before.split(" ", 1)[0]),
        parent=int(fields[1]),
        ms=(user + system) * _TICK_MS,
        reaped_ms=(child_user + child_system) * _TICK_MS,
        threads=int(fields[17]),
    )


def parse_pss(text: str) -> float:
    """Return the Pss of smaps_rollup in MB."""
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * _KIB / 1e6
    raise ValueError("smaps_rollup has no Pss")


def everything() -> dict[int, Stat]:
    """Return every process of the machine; those that end meanwhile are left out."""
    found = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                stat = parse_stat((folder / "stat").read_text())
                found[stat.pid] = stat
    return found


def family(root: int, machine: Mapping[int, Stat]) -> list[Stat]:
    """Return a process and all its descendants; nothing when it has ended."""
    if root not in machine:
        return []
    found, ahead = [], [root]
    while ahead:
        pid = ahead.pop()
        found.append(machine[pid])
        ahead.extend(stat.pid for stat in machine.values() if stat.parent == pid)
    return found


def cpu_ms(root: int, machine: Mapping[int, Stat]) -> float:
    """Return the CPU time of a process and its descendants, ended ones included."""
    return sum(stat.ms + stat.reaped_ms for stat in family(root, machine))


def threads(roots: Iterable[int]) -> int:
    """Return how many threads these processes and their descendants have together."""
    machine = everything()
    return sum(stat.threads for root in roots for stat in family(root, machine))


def pss_mb(pids: Iterable[int]) -> float | None:
    """Return the memory of these processes, each page shared out; None where it may not be read.

    Servers of an ordinary user forbid it to all but root.
    """
    total = 0.0
    for pid in pids:
        try:
            total += parse_pss((_PROC / str(pid) / "smaps_rollup").read_text())
        except FileNotFoundError:
            continue
        except PermissionError:
            return None
    return round(total, 1)


class CpuMeter:
    """The CPU time that groups of processes, and this one as `client`, take between two looks."""

    def __init__(self, roots: Mapping[str, Iterable[int]]) -> None:
        """Watch these groups, each named by the roots of its processes."""
        self._roots = {name: list(pids) for name, pids in roots.items()}
        self._before: dict[str, float] = {}
        self.ms: dict[str, float] = {}

    def start(self) -> None:
        """Take the first look."""
        self._before = self._look()

    def stop(self) -> None:
        """Take the second look: `ms` is what each group took between the two."""
        self.ms = {name: now - self._before[name] for name, now in self._look().items()}

    def _look(self) -> dict[str, float]:
        machine = everything()
        found = {
            name: sum(cpu_ms(root, machine) for root in roots)
            for name, roots in self._roots.items()
        }
        # Its children are the others.
        return found | {"client": 1000 * time.process_time()}
