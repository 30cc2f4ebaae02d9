"""Images that cannot be looked at, now or ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.llm.media.images import Images, Unread
from habakkuk.llm.media.types import Fitted, ImageLimits
from habakkuk.llm.screening import Screening
from tests.fakes.pictures import ImagesHere, document, plain, written
from tests.unit.habakkuk.llm.shelf import (
    ENDPOINTS,
    MODEL,
    SEES,
    Shelf,
    asking,
    says,
)


class Busy(ImagesHere):
    """Images on a machine that cannot start their reader the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def fit(self, data: bytes, mime: str, limits: ImageLimits, interrupt: Interrupt) -> Fitted:
        self.asked += 1
        if self.asked == 1:
            raise Unread("its reader could not be started: no memory")
        return super().fit(data, mime, limits, interrupt)


def test_an_image_that_could_not_be_looked_at_is_looked_at_again(shelf: Shelf) -> None:
    media = shelf.add(written(plain(9, 9), "PNG"), "a.png")
    screening = Screening(ENDPOINTS, shelf.load, Busy())
    first, second = (screening.fit(asking(says(media)), MODEL, SEES, Interrupt()) for _ in range(2))
    assert first.notices == (
        "a.png was not shown to anthropic/claude-sonnet-5-5: its reader could not be started: no"
        " memory",
    )
    assert media.blob in second.request.payloads


def test_one_that_cannot_be_read_is_not_read_again(shelf: Shelf) -> None:
    media = shelf.add(b"\x89PNG\r\n\x1a\nnonsense", "a.png")
    screening = Screening(ENDPOINTS, shelf.load, ImagesHere())
    for _ in range(2):
        notes = screening.fit(asking(says(media)), MODEL, SEES, Interrupt()).notices
        assert "it is damaged or no image" in notes[0]
    assert shelf.reads == 1


def test_who_sent_an_image_that_its_reader_dies_of_is_told(shelf: Shelf, tmp_path: Path) -> None:
    child = tmp_path / "child.py"
    child.write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    bad, letter = shelf.add(written(plain(9, 9), "PNG"), "bad.png"), shelf.add(document(1), "a.pdf")
    screening = Screening(ENDPOINTS, shelf.load, Images(str(child)))
    screened = screening.fit(asking(says(bad, letter)), MODEL, SEES, Interrupt())
    why = "it is damaged, or takes too much memory to read"
    assert screened.notices == (f"bad.png was not shown to anthropic/claude-sonnet-5-5: {why}",)
    assert why in screened.request.messages[0].text
    assert list(screened.request.payloads) == [letter.blob]


def test_an_interrupt_ends_the_fitting_and_nothing_is_kept_of_it(shelf: Shelf) -> None:
    media = shelf.add(written(plain(9, 9), "PNG"))
    screening = Screening(ENDPOINTS, shelf.load, Images())
    tripped = Interrupt()
    tripped.trip(Reason.CANCELLED)
    with pytest.raises(Interrupted):
        screening.fit(asking(says(media)), MODEL, SEES, tripped)
    assert screening.fit(asking(says(media)), MODEL, SEES, Interrupt()).request.payloads
