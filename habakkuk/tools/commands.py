"""Run an agent's command: behind the shim, as its sandbox says."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from habakkuk.core.agent_user import AgentUser, find_agent_user
from habakkuk.core.config.schema import AgentConfig, CommandLimits
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.gather import Gathered
from habakkuk.tools.sandbox.contract import Ground, Order, Sandbox, Sheet
from habakkuk.tools.sandbox.registry import Sandboxes
from habakkuk.tools.shims import Shim

__all__ = ["Commands", "Ended", "Order"]

# How long the last output may take once the shim has ended.
_LAST_SECONDS = 0.5
_CHUNK = 65536


@dataclass(frozen=True)
class Ended:
    """How a command ended. `code` is negative for a signal, None when it was cut."""

    code: int | None
    timed_out: bool
    seconds: float
    output: Gathered
    errors: Gathered


class Commands:
    """Starts commands. Thread-safe; one command a call."""

    def __init__(
        self,
        process: Mapping[str, str] | None = None,
        home: Path | None = None,
        user: Callable[[], AgentUser | None] = find_agent_user,
        limits: CommandLimits | None = None,
    ) -> None:
        """Take this process's environment, of which commands get a little, and its home.

        Every command runs here then, in no sandbox.
        """
        ground = Ground(process or {}, home, user, limits or CommandLimits())
        self._ground = ground
        self._sandboxes = Sandboxes(ground)

    @classmethod
    def on(cls, ground: Ground, agents: Mapping[str, AgentConfig]) -> Commands:
        """Return commands that run where each agent's configuration says."""
        made = cls()
        made._ground = ground
        made._sandboxes = Sandboxes(ground, agents)
        return made

    def sandbox(self, agent: str) -> Sandbox:
        """Return where the commands of an agent run. Raises ToolError for an unknown agent."""
        return self._sandboxes.of(agent)

    @property
    def home(self) -> Path | None:
        """The folder of Habakkuk itself, which no agent reads."""
        return self._ground.home

    def sees_all(self, agent: str) -> bool:
        """Whether an agent's commands see more than its workspace. Raises ToolError."""
        return self.sandbox(agent).sees_all

    def refuse_writing(self, agent: str) -> None:
        """Raise ToolError when an agent's commands would not see files that are written here."""
        if self.sandbox(agent).remote:
            raise ToolError(
                "this was not done: commands run on another machine, which would never see the"
                " file; change files there with exec"
            )

    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
        """Return how a command becomes a process: what a shim is given to run it.

        Raises ToolError when its sandbox cannot run it; it is never run outside of that. Raises
        Interrupted.
        """
        sandbox = self._sandboxes.here() if order.here else self.sandbox(order.agent)
        sheet = sandbox.sheet(order, workspace, interrupt)
        if order.variables and sheet.stop is not None:
            raise ToolError(
                "secrets are not given to commands that run elsewhere: there they would stand in"
                " the list of processes"
            )
        return replace(sheet, variables=sheet.variables | dict(order.variables))

    def run(self, order: Order, workspace: Path, interrupt: Interrupt) -> Ended:
        """Run a command to its end.

        Raises ToolError when it cannot be started, Interrupted when the turn ends meanwhile: then
        the command and its descendants are dead already.
        """
        started = time.monotonic()
        shim = Shim(self.sheet(order, workspace, interrupt), apart=True)
        run = _Run(shim)
        try:
            with interrupt.freeing(shim.cut):
                run.drain()
        finally:
            end = shim.collect()
        interrupt.check()
        if end is None:
            raise ToolError("the command was killed together with what watches over it")
        if "failure" in end:
            raise ToolError(str(end["failure"]))
        code = end.get("code")
        return Ended(
            code=code if isinstance(code, int) else None,
            timed_out=bool(end.get("timed_out")),
            seconds=time.monotonic() - started,
            output=run.output,
            errors=run.errors,
        )


class _Run:
    """What a shim's command prints."""

    def __init__(self, shim: Shim) -> None:
        self._shim = shim
        self.output = Gathered()
        self.errors = Gathered()

    def drain(self) -> None:
        """Read all pipes at once until the shim has ended; no full pipe ever stops the command."""
        shim = self._shim
        takers: dict[int, Callable[[bytes], None]] = {
            shim.output: self.output.add,
            shim.errors: self.errors.add,
            shim.said: shim.status.extend,
        }
        last: float | None = None
        with selectors.DefaultSelector() as selector:
            for handle in takers:
                selector.register(handle, selectors.EVENT_READ)
            while selector.get_map() and (last is None or time.monotonic() < last):
                for key, _ in selector.select(0.1):
                    data = os.read(key.fd, _CHUNK)
                    takers[key.fd](data)
                    if not data:
                        selector.unregister(key.fd)
                        if key.fd == shim.said:
                            last = time.monotonic() + _LAST_SECONDS
                shim.hurry()
