"""What is said beside an answer: who failed, what could not be shown, how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from habakkuk.llm.types import Finished, StopReason

BLANK = "The model gave an empty answer twice. Send the message again to try once more."
LENGTH = "The answer was cut at the model's output limit. Say “go on” for the rest."
REFUSED = "The model declined to answer."


def of_answer(finished: Finished, text: str, *, name_failed: bool) -> list[str]:
    """Return everything that is said beside an answer, the end of it only once.

    `name_failed`: who was asked before and failed is said, too.
    """
    own = _endnotes(finished, text)
    told = finished.notices
    if own:
        # What the adapter says of the end, by the model's name, is in our own words already.
        told = tuple(notice for notice in told if not notice.startswith(f"{finished.model} "))
    failed = finished.failed if name_failed else ()
    return [*failed, *told, *own]


def of_step(finished: Finished, *, name_failed: bool) -> list[str]:
    """Return what a step of a turn that goes on leaves to be said at its end."""
    return [*(finished.failed if name_failed else ()), *finished.notices]


def joined(notices: Iterable[str]) -> str:
    """Return notices as one text of sentences, each said once."""
    return " ".join(dict.fromkeys(map(sentence, notices)))


def sentence(text: str) -> str:
    """Return a text with a mark at its end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _endnotes(finished: Finished, text: str) -> Sequence[str]:
    """Return what Habakkuk says of an answer's end; always something when there is no text."""
    if finished.stop is StopReason.LENGTH:
        return [LENGTH]
    if text:
        return []
    return [REFUSED if finished.stop is StopReason.REFUSAL else BLANK]
