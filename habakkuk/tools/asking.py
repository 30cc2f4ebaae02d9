"""What questions to a person have in common, from the tool that asks to the surface that shows."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

# The kind of the wait.
CLARIFY = "clarify"
# Seed, Session tools: 15 minutes, as for approvals.
EXPIRES_SECONDS = 15 * 60.0
# The outcome of a question that was answered; others are those of every wait.
ANSWERED = "answered"
MOST_QUESTIONS = 5
MOST_CHOICES = 9


def lettered(choices: Sequence[str]) -> list[tuple[str, str]]:
    """Return choices with their letters."""
    return list(zip(ascii_uppercase, choices, strict=False))


def in_words(questions: Sequence[dict[str, Any]]) -> str:
    """Return questions with their choices as text, numbered where there are several."""
    several = len(questions) > 1
    return "\n\n".join(
        _one(question, f"{n}. " if several else "") for n, question in enumerate(questions, 1)
    )


def meant(questions: Sequence[dict[str, Any]], said: str) -> str:
    """Return an answer, with the choice beside it where it is nothing but the letter of one."""
    letter = said.strip().rstrip(".)").upper()
    choices = dict(lettered(questions[0]["choices"])) if len(questions) == 1 else {}
    return f"{letter}. {choices[letter]}" if letter in choices else said


def _one(question: dict[str, Any], mark: str) -> str:
    lines = [mark + question["question"]]
    return "\n".join([*lines, *(f"   {a}. {text}" for a, text in lettered(question["choices"]))])
