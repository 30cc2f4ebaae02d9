from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.drills.world import Options, World


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of the bare world in one process: they share it."""
    for item in items:
        if "bare_world" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("bare-world"))


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """Real processes but for the workers, which each test starts as it needs them."""
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
