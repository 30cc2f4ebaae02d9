"""kill -9 of the worker at the points where it hurts, on each way in."""

from __future__ import annotations

import itertools
import json
import signal
import threading

import psutil
import pytest

from scripts.drills.asks import Ask, Surface
from scripts.drills.checker import Checker
from scripts.drills.clients import INTERRUPTED_LINE, Patience, carry_out
from scripts.drills.world import World

_number = itertools.count()
# Those whose clients wait for their answer; the channel has its own tests and the drill.
SURFACES = [Surface.CHAT, Surface.WHOLE, Surface.STREAM]
IN_THE_STREAM = "model.text=#6"
IN_THE_TOOL = "tool.run.after=#1"
BEFORE_COMPLETION = "turn.end.before=#1"
AFTER_COMPLETION = "turn.end.after=#1"


def _ask(surface: Surface, *, tool: bool) -> Ask:
    name = f"crash-{next(_number)}"
    mark = f"{name}.1"
    call = f'[[tool mark {{"mark": "{mark}"}}]]' if tool else ""
    text = f"{name} says hello [[tokens 12]] [[delay 0.03]] {call}".strip()
    return Ask(name, surface, text, (("mark", mark),) if tool else (), name)


def _die_and_recover(world: World, ask: Ask, spec: str) -> None:
    """Let a worker armed with `spec` take the turn and die; another one finishes it."""
    fired = len(world.fired.read_text().splitlines())
    armed = world.start_worker("armed", DRILL_FAILPOINT=spec)
    world.await_workers("armed")
    client = threading.Thread(target=carry_out, args=(world.api, ask, Patience(60)))
    client.start()
    world.await_true(lambda: armed.code is not None, "the worker's end")
    assert armed.code == -signal.SIGKILL
    world.start_worker("rescue")
    client.join()
    point = spec.partition("=")[0]
    assert [line.split()[0] for line in world.fired.read_text().splitlines()[fired:]] == [point]


def _rows(world: World, ask: Ask) -> list[str]:
    """Return the authors of what stands in the ask's conversation."""
    found = world.records.rows(
        "SELECT author FROM chat_messages WHERE conversation_id ="
        " (SELECT conversation_id FROM chat_messages WHERE body = %s) ORDER BY seq",
        ask.text,
    )
    return [row["author"] for row in found]


def _answered_once(world: World, ask: Ask) -> None:
    world.await_true(lambda: world.records.open_jobs() == 0, "the end of all jobs")
    verdict = Checker(world, [ask]).verdict()
    assert verdict.ok, verdict.details
    assert _rows(world, ask) == ["user", "agent"]


@pytest.mark.parametrize("surface", SURFACES)
def test_in_a_streamed_model_call(bare_world: World, surface: Surface) -> None:
    ask = _ask(surface, tool=False)
    _die_and_recover(bare_world, ask, IN_THE_STREAM)
    _answered_once(bare_world, ask)
    assert len(bare_world.model_calls(ask.id + " ")) == 2


def test_a_stream_that_showed_text_says_so_and_answers_again(bare_world: World) -> None:
    ask = _ask(Surface.STREAM, tool=False)
    _die_and_recover(bare_world, ask, IN_THE_STREAM)
    shown, line, answer = ask.seen.partition(f"\n\n{INTERRUPTED_LINE}\n\n")
    assert shown
    assert line
    assert answer.startswith(shown)
    assert ask.fault_of(answer) is None


@pytest.mark.parametrize("surface", SURFACES)
def test_in_a_tool_that_took_effect(bare_world: World, surface: Surface) -> None:
    ask = _ask(surface, tool=True)
    _die_and_recover(bare_world, ask, IN_THE_TOOL)
    _answered_once(bare_world, ask)
    assert bare_world.effects().count(ask.marks[0]) == 1
    assert ask.interrupted(ask.answers[0]) == set(ask.marks)


@pytest.mark.parametrize("surface", SURFACES)
def test_between_append_and_completion(bare_world: World, surface: Surface) -> None:
    ask = _ask(surface, tool=True)
    _die_and_recover(bare_world, ask, BEFORE_COMPLETION)
    _answered_once(bare_world, ask)
    assert bare_world.effects().count(ask.marks[0]) == 1
    assert ask.interrupted(ask.answers[0]) == set()


@pytest.mark.parametrize("surface", SURFACES)
def test_after_completion_before_anybody_was_told(bare_world: World, surface: Surface) -> None:
    ask = _ask(surface, tool=False)
    _die_and_recover(bare_world, ask, AFTER_COMPLETION)
    _answered_once(bare_world, ask)
    assert len(bare_world.model_calls(ask.id + " ")) == 1


def test_in_a_command_whose_later_effect_then_does_not_happen(bare_world: World) -> None:
    """The shim that runs commands dies with the worker that started it (blueprint §13)."""
    home = bare_world.home / "agents" / "habakkuk" / "workspace"
    nap = "31.4159"
    command = json.dumps({"command": f"echo > begun.txt; sleep {nap}; echo > late.txt"})
    first = bare_world.start_worker("first")
    bare_world.await_workers("first")
    body = {"conversation": "exec", "text": f"[[tool exec {command}]] go on"}
    turn = bare_world.api.post("/api/chat", body).body["turn"]
    bare_world.await_true((home / "begun.txt").exists, "the command's beginning")
    first.kill()
    bare_world.await_true(lambda: not _sleeping(nap), "the command's end")
    bare_world.start_worker("rescue")
    ended = bare_world.api.get(f"/api/turns/{turn}?wait=30", timeout=60).body
    assert "interrupted" in json.dumps(ended["reply"])
    assert not (home / "late.txt").exists()


def _sleeping(nap: str) -> bool:
    return any(nap in (one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))
