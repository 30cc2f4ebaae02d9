"""Buttons below approvals and questions: made when it is asked, read when one is pressed.

A button's data is `k|<nonce>|<index>`, at most 64 bytes. The nonce is that of the one wait which
the prompt opened, so that a press on an old prompt is known for what it is. It proves nothing: who
pressed is checked as for any message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from habakkuk.agent.approval.types import Answer
from habakkuk.core.text import shorten
from habakkuk.tools.asking import lettered

_DATA = re.compile(r"k\|([0-9a-f]{32})\|([0-9]{1,2})")
_APPROVAL = {
    Answer.ONCE: "Allow once",
    Answer.SESSION: "Allow for the session",
    Answer.DENY: "Deny",
}
# The indices are what a button that was sent keeps: this order is for ever.
_ANSWERS = (Answer.ONCE, Answer.SESSION, Answer.DENY)
# As much as a narrow screen shows of it.
_LONGEST = 60

# A label with the data below it.
Made = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Pressed:
    """What a button's data names: the wait's id without its prefix, and which button it was."""

    nonce: str
    index: int

    @property
    def answer(self) -> Answer | None:
        """What it says to an approval; None when it is no button of one."""
        return _ANSWERS[self.index] if self.index < len(_ANSWERS) else None


def of_approval(wait_id: str, *, may_repeat: bool) -> Made:
    """Return the buttons of an approval; those of a session where that can be allowed."""
    offered = [
        (index, answer)
        for index, answer in enumerate(_ANSWERS)
        if may_repeat or answer is not Answer.SESSION
    ]
    return [(_APPROVAL[answer], _data(wait_id, index)) for index, answer in offered]


def of_question(wait_id: str, questions: Sequence[dict[str, Any]]) -> Made:
    """Return a button for each choice of one question; of several none, a text answers them."""
    if len(questions) != 1:
        return []
    return [
        (shorten(f"{letter}. {choice}", _LONGEST), _data(wait_id, index))
        for index, (letter, choice) in enumerate(lettered(questions[0]["choices"]))
    ]


def label(answer: Answer) -> str:
    """Return what the button of an answer says."""
    return _APPROVAL[answer]


def read(data: str) -> Pressed | None:
    """Return what a button's data names; None when it is none of ours."""
    found = _DATA.fullmatch(data)
    return Pressed(found[1], int(found[2])) if found else None


def _data(wait_id: str, index: int) -> str:
    return f"k|{wait_id.rpartition('_')[2]}|{index}"
