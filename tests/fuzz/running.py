"""Find the fuzz targets and run them.

A target is a module in tests/fuzz/targets with `STRATEGY`, of bytes, and `check(data)`, which
raises when what must hold does not. What once failed, or took a way that chance seldom takes, lies
in tests/fuzz/corpus/<target>/, a file a case, and is tried first each time.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

_HERE = Path(__file__).parent
_PACKAGE = "tests.fuzz.targets"
_ROUND = 200


@dataclass(frozen=True)
class Target:
    """One thing that is fuzzed."""

    name: str
    strategy: SearchStrategy[bytes]
    check: Callable[[bytes], None]

    @property
    def corpus(self) -> Path:
        """Where its kept cases lie."""
        return _HERE / "corpus" / self.name

    def kept(self) -> Iterator[Path]:
        """Yield the kept cases."""
        if self.corpus.is_dir():
            yield from sorted(path for path in self.corpus.iterdir() if path.is_file())


def targets() -> dict[str, Target]:
    """Return every target by name; a module in the folder is one."""
    found = {}
    for module in pkgutil.iter_modules([str(_HERE / "targets")]):
        loaded = importlib.import_module(f"{_PACKAGE}.{module.name}")
        found[module.name] = Target(module.name, loaded.STRATEGY, loaded.check)
    return found


class Failed(Exception):
    """A case for which a target's promise does not hold."""

    def __init__(self, case: Path, cause: Exception) -> None:
        """Say where the case was kept."""
        super().__init__(f"{case}: {type(cause).__name__}: {cause}")
        self.case = case


def replay(target: Target) -> int:
    """Try the kept cases; return how many there are. Raises Failed."""
    count = 0
    for path in target.kept():
        try:
            target.check(path.read_bytes())
        except Exception as error:
            raise Failed(path, error) from error
        count += 1
    return count


def fuzz(target: Target, seconds: float, first: int) -> int:
    """Try new cases for so long, in rounds with seeds of their own; return how many.

    A failing case is made as small as it goes and kept. Raises Failed.
    """
    until = time.monotonic() + seconds
    number = count = 0
    while time.monotonic() < until:
        count += one_round(target, first + number, _ROUND)
        number += 1
    return count


def one_round(target: Target, number: int, examples: int) -> int:
    """Try `examples` cases that follow from a seed; return how many ran. Raises Failed."""
    tried: list[bytes] = []

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.strategy)
    def run(data: bytes) -> None:
        tried.append(data)
        target.check(data)

    try:
        run()
    except Exception as error:
        # The last one that ran is the smallest that fails.
        raise Failed(_keep(target, tried[-1]), error) from error
    return len(tried)


def _keep(target: Target, data: bytes) -> Path:
    target.corpus.mkdir(parents=True, exist_ok=True)
    path = target.corpus / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return path
