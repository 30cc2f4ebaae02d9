"""One provider of each type, against a fake server that plays a scenario."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import Endpoint, Profile, Provider
from habakkuk.llm.registry import Registry, provider_types
from habakkuk.llm.types import Finished, LlmEvent, LlmRequest, Message, Role, Text
from tests.contract.providers.wires import WIRES, Wire
from tests.fakes.model_script import Reply
from tests.fakes.model_server import ModelServer

REQUEST = LlmRequest("Be brief.", (Message(Role.USER, (Text(text="hello"),)),))


class Bench:
    """A provider at a fake server. `play` names the scenario of the next requests."""

    def __init__(self, kind: str, wire: Wire, server: ModelServer) -> None:
        self.server = server
        self._wire = wire
        self.scenario = "text"
        server.script = lambda _: self._wire(self.scenario)
        self.endpoint = Endpoint(
            "mine", server.base_url, "sk-secret-key", api_key_env="MY_KEY", type=kind
        )

    def reply(self, scenario: str) -> Reply:
        """Return what the wire has for a scenario."""
        return self._wire(scenario)

    @contextmanager
    def provider(self, **changes: object) -> Iterator[Provider]:
        """A provider at an endpoint with these changes."""
        registry = Registry({"mine": replace(self.endpoint, **changes)})  # type: ignore[arg-type] # fields by name
        try:
            yield registry.provider("mine")
        finally:
            registry.close()

    def ask(
        self,
        scenario: str,
        request: LlmRequest = REQUEST,
        interrupt: Interrupt | None = None,
        *,
        model: str = "m",
        profile: Profile | None = None,
        **changes: object,
    ) -> tuple[list[LlmEvent], Finished]:
        """Return what a scenario shows, and its end."""
        self.scenario = scenario
        asked = (request, profile or Profile(), interrupt or Interrupt())
        with self.provider(**changes) as provider:
            *shown, last = provider.stream(model, *asked)
        assert isinstance(last, Finished)
        return shown, last


@pytest.fixture(params=provider_types())
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """One type of provider after the other."""
    kind = request.param
    assert kind in WIRES, f"tests/contract/providers/wires.py does not know the type {kind}"
    with ModelServer() as server:
        yield Bench(kind, WIRES[kind], server)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A fake server without a script."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def in_thread() -> Iterator[Callable[[Callable[[], None]], threading.Thread]]:
    """Run something beside the test; it has ended when the test has."""
    started: list[threading.Thread] = []

    def start(action: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=action)
        started.append(thread)
        thread.start()
        return thread

    yield start
    for thread in started:
        thread.join(20)
        assert not thread.is_alive()
