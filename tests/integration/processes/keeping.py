"""A keeper in this process, and the tools as an agent calls them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from habakkuk.core.failpoints import Failpoints
from habakkuk.keeper.service import Keeper
from habakkuk.processes.types import Process, ProcessState
from habakkuk.tools.contract import ToolContext, ToolOutput
from habakkuk.tools.registry import ToolRegistry
from habakkuk.tools.services import ToolServices
from tests.fakes import toolbox
from tests.fakes.stack import Stack, until

TOOLS = ToolRegistry().of(["core"])
_numbers = itertools.count(1)


class Keeping:
    """Starts and ends keepers over one stack."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.desk = stack.container.processes
        self.keeper: Keeper | None = None
        self.turn = "turn-1"
        self.session = "session-1"

    def start(self, failpoints: Failpoints | None = None) -> Keeper:
        source = self.stack.container
        if failpoints is not None:
            source = replace(source, failpoints=failpoints)
        self.keeper = source.keeper()
        self.keeper.start()
        until(lambda: self.desk.census().kept)
        return self.keeper

    def stop(self) -> None:
        if self.keeper is not None:
            self.keeper.stop()
            self.keeper = None

    def close(self) -> None:
        self.stop()

    def context(self, agent: str = "habakkuk", call: str | None = None) -> ToolContext:
        home = self.stack.home
        workspace = home / "agents" / agent / "workspace"
        services: ToolServices = toolbox.services(home, processes=self.desk)
        return toolbox.context(
            workspace,
            services,
            agent=agent,
            call_id=call or f"call_{next(_numbers)}",
            turn_id=self.turn,
            session_id=self.session,
        )

    def call(self, name: str, agent: str = "habakkuk", **arguments: object) -> ToolOutput:
        return toolbox.call(TOOLS[name], self.context(agent), **arguments)

    def run(self, command: str, agent: str = "habakkuk", **arguments: object) -> str:
        """Start a command in the background; return its process's id."""
        output = self.call("exec", agent, command=command, background=True, **arguments)
        assert not output.is_error, output.text
        match = re.match(r"p_[0-9a-f]{16} ", output.text)
        assert match, output.text
        return match[0].strip()

    def process(self, process_id: str) -> Process:
        found = self.desk.find(None, process_id)
        assert found is not None
        return found

    def ended(self, process_id: str) -> Process:
        """Wait for a process's end."""
        until(lambda: not self.process(process_id).state.alive)
        return self.process(process_id)

    def printed(self, process_id: str) -> bytes:
        """Return all output that is kept."""
        part = self.desk.read(process_id, 0, 1 << 30)
        assert part.start == part.kept
        return part.data

    def until_printed(self, process_id: str, text: bytes) -> None:
        until(lambda: text in self.printed(process_id))

    def state(self, process_id: str) -> ProcessState:
        return self.process(process_id).state
