"""Files that a model is shown."""

from __future__ import annotations

import pytest

from habakkuk.llm.screening import Screening
from tests.fakes.pictures import ImagesHere
from tests.unit.habakkuk.llm.shelf import (
    ENDPOINTS,
    Shelf,
)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def screening(shelf: Shelf) -> Screening:
    return Screening(ENDPOINTS, shelf.load, ImagesHere())
