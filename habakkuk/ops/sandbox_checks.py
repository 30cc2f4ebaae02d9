"""The doctor's look at where each agent's commands run: which wall stands, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from habakkuk.core.config.settings import Settings
from habakkuk.ops.findings import Finding, fail, ok, warn
from habakkuk.tools.commands import Commands
from habakkuk.tools.sandbox.contract import Ground

_ADVICE = "mend that, or choose another sandbox for the agent; its commands are refused until then"


def check_sandboxes(settings: Settings) -> Iterator[Finding]:
    """Yield a finding for each agent in a sandbox, and for each secret that others could read."""
    yield from _open_secrets(settings)
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


def _open_secrets(settings: Settings) -> Iterator[Finding]:
    """Yield the secrets of commands that commands of other agents could find while these run."""
    agents = settings.config.agents
    unconfined = [name for name, agent in agents.items() if agent.sandbox == "none"]
    for name, secret in settings.config.secrets.items():
        allowed = secret.agents or list(agents)
        others = [agent for agent in unconfined if agent not in allowed]
        if "exec" in secret.tools and others:
            yield warn(
                f"secret {name}",
                f"commands of {', '.join(others)} run in no sandbox: they can read it from the"
                f" environment of a command of {', '.join(allowed)} that has it",
                "give these agents `sandbox: workspace`, or take exec out of the secret's tools",
            )
