"""Five hundred turns at services that fail in every way, in all four formats.

Each ends with an answer or with words that say why there is none, its transcript stays valid, and
no model is asked again once it has answered whole.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from habakkuk.agent.repair import repair
from habakkuk.conversations.types import Author, ChatKind, Outcome
from tests.contract.providers.wires import WIRES
from tests.fakes.model_script import Cut, Reply, Stall
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.stack import Stack

TURNS = 500
SEED = 20261130
AT_ONCE = 48
# How often each happens; the rest are whole answers.
FAULTS = {
    "cut": 4,
    "clean cut": 4,
    "cut before text": 4,
    "cut call": 3,
    "stall": 2,
    "silence": 2,
    "keep-alives": 1,
    "error inside": 4,
    "error at once": 4,
    "error body": 3,
    "401": 3,
    "402": 2,
    "404": 2,
    "413": 2,
    "429": 6,
    "500": 5,
    "529": 5,
    "reset": 5,
    "garbage": 4,
    "page": 3,
    "blank": 3,
    "refusal": 2,
    "unknown stop": 2,
    "call": 5,
}
WHOLE = 30
CONFIG = """
  wire-a: {{model: mine/m, fallbacks: [an/m, resp/m], permissions: full}}
  wire-b: {{model: an/m, fallbacks: [gem/m, mine/m], permissions: full}}
  wire-c: {{model: resp/m, fallbacks: [mine/m, gem/m], permissions: full}}
  wire-d: {{model: gem/m, fallbacks: [resp/m, an/m], permissions: full}}
"""
_MARK = re.compile(r"turn-(\d+)-of-chaos")
_LIMITS = "timeout: 20s, stall_timeout: 1s, first_byte_timeout: 1s, ping_timeout: 1s"


class Chaos:
    """What the services do, drawn by a seed, and whom they have answered whole."""

    def __init__(self) -> None:
        self._rng = random.Random(SEED)
        self._lock = threading.Lock()
        self.answered: set[str] = set()
        self.again: list[str] = []
        self.seen: Counter[str] = Counter()

    def __call__(self, request: Recorded) -> Reply:
        kind = _kind(request.path)
        mark = _MARK.findall(json.dumps(request.body))[-1]
        with self._lock:
            (scenario,) = self._rng.choices(
                ["text", *FAULTS], weights=[WHOLE, *FAULTS.values()], k=1
            )
            self.seen[scenario] += 1
            if mark in self.answered:
                self.again.append(f"{mark} at {kind}: {scenario}")
            if scenario in ("text", "unknown stop", "refusal"):
                self.answered.add(mark)
        return _reply(kind, scenario)


def _kind(path: str) -> str:
    if "streamGenerateContent" in path:
        return "gemini"
    return {"/v1/messages": "anthropic", "/v1/responses": "responses"}.get(path, "openai")


def _reply(kind: str, scenario: str) -> Reply:
    if scenario == "reset":
        return Reply([], before=[Cut()])
    if scenario == "silence":
        return Reply([], before=[Stall()])
    if scenario == "garbage":
        return Reply([b"\xff\xfe\x00{]}data:\n\nevent: \x80\n\n"])
    if scenario == "page":
        return Reply([b"<html>maintenance</html>"], content_type="text/html")
    if scenario == "529":
        return replace(WIRES[kind]("500"), status=529)
    reply = WIRES[kind](scenario)
    return replace(reply, headers={"retry-after": "1"}) if scenario == "429" else reply


@pytest.fixture
def chaos() -> Chaos:
    return Chaos()


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, chaos: Chaos) -> Iterator[Stack]:
    with ModelServer(script=chaos) as server:
        base = server.base_url
        providers = f"""
  an: {{type: anthropic, base_url: "{base}", api_key_env: MINE_KEY, {_LIMITS}}}
  resp: {{type: responses, base_url: "{base}", api_key_env: MINE_KEY, {_LIMITS}}}
  gem: {{type: gemini, base_url: "{base.removesuffix("/v1")}", api_key_env: MINE_KEY, {_LIMITS}}}
"""
        made = Stack(home, database_url, redis_url, server, CONFIG.format(), providers, _LIMITS)
        yield made
        made.close()
        assert server.violations == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_fault_leaves_a_turn_without_an_end_or_a_session_broken(
    stack: Stack, chaos: Chaos
) -> None:
    stack.start(turns=AT_ONCE)
    agents = ["wire-a", "wire-b", "wire-c", "wire-d"]
    asked = [
        stack.say(f"turn-{n}-of-chaos", chat=f"c{n}", agent=agents[n % 4]) for n in range(TURNS)
    ]
    replies = [stack.reply(admitted) for admitted in asked]
    assert all(reply.body.strip() for reply in replies)
    for admitted, reply in zip(asked, replies, strict=True):
        outcome = stack.turn(admitted.turn_id).outcome
        if outcome is Outcome.FAILED:
            assert (reply.author, reply.kind) == (Author.SYSTEM, ChatKind.ERROR)
        stored = stack.container.conversations.transcript(stack.principal, admitted.session_id)
        messages = [item.message for item in stored]
        assert len([row for row in stack.rows(admitted) if row.turn_id == admitted.turn_id]) == 2
        if outcome is not Outcome.FAILED:
            assert repair(messages) == tuple(messages)
    assert chaos.again == []
    assert set(chaos.seen) >= set(FAULTS)
