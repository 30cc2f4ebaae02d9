from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.drills.world import Options, World


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Real processes but for the workers, which each test starts as it needs them.

    Ended with the module: its processes look around all the time, and so would to the run's end.
    """
    with World(Options(workers=0, forked=True)) as made:
        yield made


@pytest.fixture
def bare_world(world: World) -> Iterator[World]:
    """The same without any worker at the beginning and at the end."""
    yield world
    for program in world.workers.values():
        if program.code is None:
            program.kill()
    world.workers.clear()
