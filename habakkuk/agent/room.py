"""How much of a session a turn may send, and in whose name it is summed up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import orjson

from habakkuk.agent.compaction.window import Room
from habakkuk.agent.offered import offered
from habakkuk.agent.run import TurnRun
from habakkuk.llm.counting import guess
from habakkuk.llm.types import ModelRef


def room_of(run: TurnRun, chain: Sequence[ModelRef]) -> Room:
    """Return the room of a turn's session, whose models are `chain`."""
    fits = run.ports.fits(chain[0], run.agent)
    return Room(
        run.context,
        run.ports.models,
        chain,
        run.labels,
        run.turn.session_id,
        fits.limit,
        fits.takes,
        partial(_fixed, run),
    )


def _fixed(run: TurnRun) -> int:
    """Return the tokens of what stands beside the messages: the prompt and the tools."""
    tools = [[spec.name, spec.description, spec.parameters] for spec in offered(run)]
    return guess(run.system) + guess(orjson.dumps(tools).decode())
