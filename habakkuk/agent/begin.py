"""The first step of a turn: take its messages, freeze the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from zoneinfo import ZoneInfo

import orjson

from habakkuk.agent.prompt import assemble, joined
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import addresses, chat, transcript, turns
from habakkuk.conversations.types import ChatMessage, Outcome
from habakkuk.db.engine import Work
from habakkuk.jobs.types import JobState
from habakkuk.llm.types import Message, Role, Text, blocks_from_json


def begin(run: TurnRun) -> bool:
    """Take the queued messages as one user message; False when all were withdrawn.

    One transaction, after which the turn has begun: nothing joins it any more, and a crash
    finds the message in the transcript.
    """
    turn, context = run.turn, run.context
    context.failpoints.hit("turn.take.before")
    with context.database.transaction() as work:
        addresses.lock_by_id(work, turn.conversation_id)
        context.guard_change(work)
        taken = chat.take(work, turn.conversation_id, turn.id)
        turns.begin(work, turn.id)
        if not taken:
            turns.end(work, turn.id, Outcome.WITHDRAWN, None)
            context.finish(work, JobState.DONE)
            return False
        _freeze_prompt(run, work)
        step = _write_seed(run, work)
        message = user_message(taken, ZoneInfo(run.ports.config.timezone))
        transcript.append(work, turn.session_id, turn.id, step, message)
    context.failpoints.hit("turn.take.after")
    return True


def user_message(taken: Sequence[ChatMessage], zone: ZoneInfo) -> Message:
    """Return the messages as one, led by the time of the first: time never enters the prompt."""
    note = Text(text=f"[{_stamp(taken[0].created, zone)}]\n")
    bodies = [message.body for message in taken]
    texts = [Text(text=body + "\n") for body in bodies[:-1]] + [Text(text=bodies[-1])]
    return Message(Role.USER, (note, *texts))


def _stamp(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).strftime("%a %Y-%m-%d %H:%M %Z")


def _freeze_prompt(run: TurnRun, work: Work) -> None:
    has_tools = bool(run.ports.tools.of(run.agent.toolsets))
    parts = assemble(run.turn.agent, run.agent, has_tools=has_tools)
    stored = orjson.dumps([asdict(part) for part in parts]).decode()
    addresses.freeze_prompt(work, run.turn.session_id, joined(parts), stored)


def _write_seed(run: TurnRun, work: Work) -> int:
    """Write what a new session starts with; return the step that follows it."""
    seed = run.context.job.payload.get("seed") or []
    if not seed or transcript.count(work, run.turn.session_id):
        return 0
    for step, item in enumerate(seed):
        message = Message(Role(item["role"]), blocks_from_json(item["blocks"]))
        transcript.append(work, run.turn.session_id, run.turn.id, step, message)
    return len(seed)
