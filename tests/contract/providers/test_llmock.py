"""A foreign opponent: a server that speaks four formats, fails at random, and judges its client.

It groups attempts by their body and looks at what came after each failure: whether Retry-After was
waited for, whether what cannot succeed was asked again, whether a cut stream was taken for whole.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from habakkuk.core.errors import LlmError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import Endpoint, StreamCut
from habakkuk.llm.registry import Registry
from habakkuk.llm.router import Router
from habakkuk.llm.types import Finished, LlmRequest, Message, ModelRef, Role, Text
from scripts.harness.programs import free_port
from tests.fakes.stack import until

# It lives apart: what it brings, the product would load.
_PYTHON = str(Path(sys.prefix) / "tools" / "bin" / "python")
CALLS = 25
FAULTS = [
    *("--error-rate", "429=0.1", "--error-rate", "500=0.08", "--error-rate", "529=0.05"),
    *("--error-rate", "401=0.03", "--error-rate", "400=0.03"),
    *("--stream-fault", "truncate=0.08", "--stream-fault", "disconnect=0.08"),
    *("--stream-fault", "malformed=0.05"),
]
MODELS = {
    "openai": ("/v1", "gpt-4o"),
    "responses": ("/v1", "gpt-4o"),
    "anthropic": ("/anthropic", "claude-sonnet-4-5"),
    "gemini": ("/gemini", "gemini-2.5-flash"),
}


@pytest.fixture
def opponent() -> Iterator[str]:
    """The server's address."""
    port = free_port()
    command = [_PYTHON, "-m", "llmock.cli", "serve", "--port", str(port), *FAULTS]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        until(lambda: is_up(f"{address}/health"))
        yield address
    finally:
        process.terminate()
        process.wait(20)


def is_up(address: str) -> bool:
    try:
        return httpx2.get(address).is_success
    except httpx2.TransportError:
        return False


def ask(router: Router, kind: str, number: int, more: int = 4) -> bool:
    """Ask one question; True when it was answered, False for a failure that says what it is.

    What broke off or may pass is asked for again, as its user is offered: the judge takes a broken
    stream that nobody asks about again for one that was believed. Four more times, so that among
    hundreds of questions none ends with a cut by chance.
    """
    asked = LlmRequest("Be brief.", (Message(Role.USER, (Text(text=f"{kind} {number}"),)),))
    ref = ModelRef(kind, MODELS[kind][1])
    try:
        events = list(router.stream((ref,), asked, Interrupt()))
    except LlmError as error:
        passing = isinstance(error, StreamCut) or error.retryable
        if not (passing and more):
            return False
        Interrupt().wait(error.retry_after or 0.0)
        return ask(router, kind, number, more - 1)
    return isinstance(events[-1], Finished)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_foreign_judge_finds_nothing_wrong_with_how_faults_are_met(opponent: str) -> None:
    endpoints = {
        kind: Endpoint(kind, opponent + path, "sk-key", type=kind)
        for kind, (path, _) in MODELS.items()
    }
    registry = Registry(endpoints)
    router = Router(registry)
    jobs = [(kind, number) for number in range(CALLS) for kind in MODELS]
    with ThreadPoolExecutor(16) as pool:
        answered = list(pool.map(lambda job: ask(router, *job), jobs))
    registry.close()
    judged = subprocess.run(
        [_PYTHON, "-m", "llmock.cli", "report", "--url", opponent, "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    verdict = json.loads(judged.stdout)
    faults = [f"{f['path']}: {f['title']}" for f in verdict["findings"] if f["severity"] == "error"]
    assert faults == []
    assert judged.returncode == 0
    # Most are answered in the end; without faults all would be.
    assert sum(answered) > len(jobs) // 2
    assert sum(answered) < len(jobs)
