"""What whoever runs this is told of mails that are not given out."""

from __future__ import annotations

import time

from habakkuk.channels.email.place import Stand
from habakkuk.channels.email.withheld import withheld


def test_a_mail_that_waits_and_one_that_was_given_up_are_told_with_what_to_do() -> None:
    now = time.time()
    place = Stand("box", 7).refused(5, now, "the line breaks", 2_100_000)
    for _ in range(8):
        place = place.refused(6, now, "the server leaves it out")
    waits, lost = withheld(place)
    assert (waits.what, waits.why) == ("mail 5 (2.1 MB)", "the line breaks")
    assert "asked for again" in waits.advice
    assert (lost.what, lost.why) == ("mail 6", "the server leaves it out")
    assert "copy it within the mailbox" in lost.advice


def test_what_was_given_up_long_ago_is_told_no_more() -> None:
    place = Stand("box", 7)
    for _ in range(8):
        place = place.refused(6, time.time() - 8 * 86_400)
    assert withheld(place) == []
