"""How much tool output a model is given: what is over it is kept whole, and can be read on.

A step's budget is shared out from the smallest result up: small ones stay whole, the large ones
share what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import ToolOutput

# In characters; some 7,500 and 25,000 tokens of English.
RESULT_BUDGET = 30_000
STEP_BUDGET = 100_000
# However many calls a step has: less than this says nothing any more.
_LEAST = 1_000
# Logs begin with what was run and end with what went wrong; most of it stands at the start.
_HEAD_SHARE = 0.7


class Keep(Protocol):
    """Stores a whole text."""

    def __call__(self, text: str, *, outside: bool) -> str:
        """Return the handle under which `read_output` finds it."""
        ...


def fit(outputs: Sequence[ToolOutput], keep: Keep) -> tuple[ToolOutput, ...]:
    """Return the outputs of one step, each within its share of the budget.

    The same outputs give the same result, so a step that a crash repeats does not change.
    """
    shares = _shares([len(output.text) for output in outputs])
    return tuple(
        output if len(output.text) <= share else replace(output, text=_cut(output, share, keep))
        for output, share in zip(outputs, shares, strict=True)
    )


def _shares(lengths: Sequence[int]) -> list[int]:
    """Return how much each may have."""
    shares = [0] * len(lengths)
    left = STEP_BUDGET
    for position, index in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        even = left // (len(lengths) - position)
        shares[index] = max(_LEAST, min(RESULT_BUDGET, even))
        left = max(0, left - min(lengths[index], shares[index]))
    return shares


def _cut(output: ToolOutput, share: int, keep: Keep) -> str:
    text = output.text
    head = int(share * _HEAD_SHARE)
    tail = share - head
    note = (
        f"\n[… {len(text) - share} of {len(text)} characters left out here;"
        f" {_way_on(output, head, keep)} …]\n"
    )
    return text[:head] + note + text[-tail:]


def _way_on(output: ToolOutput, offset: int, keep: Keep) -> str:
    """Keep the whole text and say how to read on: a full disk must not lose a call's result."""
    try:
        handle = keep(output.text, outside=output.outside)
    except ToolError as error:
        return str(error)
    except OSError as error:
        return f"they could not be kept: {(error.strerror or type(error).__name__).lower()}"
    return f'read_output with handle "{handle}" and offset {offset} reads on'
