"""The doctor's look at where each agent's commands run: which wall stands, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from habakkuk.core.config.settings import Settings
from habakkuk.ops.findings import Finding, fail, ok
from habakkuk.tools.commands import Commands
from habakkuk.tools.sandbox.contract import Ground

_ADVICE = "mend that, or choose another sandbox for the agent; its commands are refused until then"


def check_sandboxes(settings: Settings) -> Iterator[Finding]:
    """Yield a finding for each agent whose commands run in a sandbox."""
    environment = settings.environment
    ground = Ground(environment.process, settings.home, secret=environment.get)
    commands = Commands.on(ground, settings.config.agents)
    for name, agent in settings.config.agents.items():
        if agent.sandbox == "none":
            continue
        sandbox = commands.sandbox(name)
        found = sandbox.objections()
        if found:
            yield fail(f"sandbox of {name}", "; ".join(found), _ADVICE)
        else:
            yield ok(f"sandbox of {name}", f"commands run {sandbox.describe()}")
