"""The first step of a turn: take its messages, freeze the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from habakkuk.agent.run import TurnRun
from habakkuk.conversations.files import Attached
from habakkuk.conversations.shelf import automatic_title
from habakkuk.conversations.store import hotpath, turns
from habakkuk.conversations.store.hotpath import Taken
from habakkuk.conversations.todo import TodoList, todo_from_json
from habakkuk.conversations.types import Outcome, Said, StoredMessage
from habakkuk.core.text import size_text
from habakkuk.db.engine import Work
from habakkuk.jobs.types import JobState
from habakkuk.llm.media.sniff import SHOWN
from habakkuk.llm.types import Block, Media, Message, Role, Text, blocks_from_json

_CORRECTED = "[An earlier message was corrected after you answered it. It now reads:]\n"
_IN_WORKSPACE = "[The file {name} ({mime}, {size}) lies in your workspace: {path}{hint}]\n"
_UNREAD = "[With this came {}, which you cannot see. Say so where it matters.]\n"


def begin(run: TurnRun, work: Work, taken: Taken) -> list[StoredMessage] | None:
    """Write the messages that were taken as one user message; None when all were withdrawn.

    In the transaction of the take, after which the turn has begun: nothing joins it any more, and
    a crash finds the message in the transcript. Returns what it writes.
    """
    turn, context = run.turn, run.context
    if taken.corrected_outside or any(said.outside for said in taken.messages):
        turns.taint(work, turn.id)
    if not taken.messages:
        turns.end(work, turn.id, Outcome.WITHDRAWN, None)
        context.finish(work, JobState.DONE)
        return None
    messages = [] if taken.length else _seed(run)
    spoken = user_message(taken.messages, ZoneInfo(run.ports.config.timezone))
    if messages and messages[-1].role is Role.USER:
        # Instructions without a conversation: roles alternate, so they lead the message.
        spoken = Message(Role.USER, messages.pop().blocks + spoken.blocks)
    spoken = _with_corrections(spoken, taken.corrections)
    messages.append(with_tasks(spoken, todo_from_json(taken.todo)))
    parts = [asdict(part) for part in run.parts] if run.frozen is None else []
    title = _title(taken.messages[0])
    hotpath.open_transcript(work, taken, messages, run.prompt, parts, title)
    return hotpath.as_stored(turn, messages, taken.length)


def user_message(taken: Sequence[Said], zone: ZoneInfo) -> Message:
    """Return the messages as one, led by the time of the first: time never enters the prompt.

    The files of each stand before its text.
    """
    note = Text(text=f"[{_stamp(taken[0].at, zone)}]\n", note=True)
    last = len(taken) - 1
    blocks = [block for n, said in enumerate(taken) for block in _blocks(said, ends=n == last)]
    return Message(Role.USER, (note, *blocks))


def with_tasks(spoken: Message, todo: TodoList) -> Message:
    """Return a turn's message with the session's task list after it, while a task is open."""
    if not todo.is_open:
        return spoken
    note = Text(text=f"\n\n[Your task list:\n{todo.text}]", note=True)
    return replace(spoken, blocks=(*spoken.blocks, note))


def _with_corrections(spoken: Message, corrections: Sequence[str]) -> Message:
    """Return a turn's message led by what the person changed of messages that were answered."""
    blocks: list[Block] = []
    for text in corrections:
        blocks += [Text(text=_CORRECTED, note=True), Text(text=f"{text}\n")]
    return replace(spoken, blocks=(*blocks, *spoken.blocks))


def _blocks(said: Said, *, ends: bool) -> Iterator[Block]:
    if said.writer:
        # Outside data: a name that looks like ours is still no more than a name.
        yield Text(text=f"[{said.writer}]\n", note=True)
    if said.unread:
        yield Text(text=_UNREAD.format(", ".join(said.unread)), note=True)
    for file in said.files:
        if file.mime in SHOWN:
            yield Media(blob=file.blob, mime=file.mime, name=file.name)
        if file.path is not None:
            yield Text(text=_in_workspace(file), note=True)
    if said.text or not (said.files or said.unread):
        yield Text(text=said.text if ends else said.text + "\n")


def _in_workspace(file: Attached) -> str:
    heard = file.mime.startswith(("audio/", "video/"))
    return _IN_WORKSPACE.format(
        name=file.name or "without a name",
        mime=file.mime,
        size=size_text(file.size),
        path=file.path,
        hint=". You can neither hear nor see it yourself; say so where it matters" if heard else "",
    )


def _title(said: Said) -> str:
    """Return the title of a session that begins so."""
    named = next((file.name for file in said.files if file.name), "")
    return automatic_title(said.text if said.text.strip() else named)


def _stamp(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).strftime("%a %Y-%m-%d %H:%M %Z")


def _seed(run: TurnRun) -> list[Message]:
    """Return what a new session starts with."""
    seed = run.context.job.payload.get("seed") or []
    return [Message(Role(item["role"]), blocks_from_json(item["blocks"])) for item in seed]
