"""Asking the person of the turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from habakkuk.core.text import clean
from habakkuk.jobs.types import EXPIRED
from habakkuk.tools.asking import (
    ANSWERED,
    CLARIFY,
    EXPIRES_SECONDS,
    MOST_CHOICES,
    MOST_QUESTIONS,
    meant,
)
from habakkuk.tools.contract import (
    Resolution,
    Risk,
    ToolArgs,
    ToolContext,
    ToolOutput,
    WaitFor,
    tool,
)

_ASSUME = "Go on with what you can assume, and say in your answer what you assumed."
_NOBODY = f"Nobody can be asked in this turn. {_ASSUME}"
_LATE = f"Nobody answered within {EXPIRES_SECONDS / 60:.0f} minutes. {_ASSUME}"
_UNDELIVERED = "The question did not reach the user{reason}. {assume}"

_Asked = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
_Choice = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class Question(ToolArgs):
    """One question."""

    question: _Asked = Field(description="The question, as the user reads it.")
    choices: list[_Choice] = Field(
        default=[],
        max_length=MOST_CHOICES,
        description="Likely answers; they are shown with letters. Any other text answers too.",
    )


class ClarifyArgs(ToolArgs):
    """What to ask, all at once."""

    questions: list[Question] = Field(
        min_length=1, max_length=MOST_QUESTIONS, description="1 to 5 questions, asked together."
    )


@tool(risk=Risk.READ, timeout_s=30, replayable=True, own_state=True)
def clarify(args: ClarifyArgs, context: ToolContext) -> ToolOutput:
    """Ask the user, wait for the answer and return it.

    Only for what you cannot find out yourself and would otherwise get wrong. It waits up to 15
    minutes.
    """
    asked: list[dict[str, Any]] = [
        {"question": clean(item.question), "choices": [clean(one) for one in item.choices]}
        for item in args.questions
    ]
    if context.resolution is not None:
        return _answered(asked, context.resolution)
    context.interrupt.check()
    if not context.attended:
        return ToolOutput(_NOBODY)
    raise WaitFor(CLARIFY, {"questions": asked, "agent": context.agent}, EXPIRES_SECONDS)


def _answered(asked: Sequence[dict[str, Any]], resolution: Resolution) -> ToolOutput:
    answer = resolution.answer or {}
    if resolution.outcome == ANSWERED:
        return ToolOutput(f"The user answered: {meant(asked, answer['text'])}")
    if resolution.outcome == EXPIRED:
        return ToolOutput(_LATE)
    reason = f" ({answer['reason']})" if answer.get("reason") else ""
    return ToolOutput(_UNDELIVERED.format(reason=reason, assume=_ASSUME))
