"""The doctor's look at checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path

from habakkuk.core.config.settings import Settings
from habakkuk.ops.findings import Finding, ok, warn
from habakkuk.tools.checkpoints.service import Checkpoints


def check_checkpoints(settings: Settings) -> Finding:
    """Check that the workspaces of agents that want checkpoints get them."""
    kept = Checkpoints(settings.home, settings.config.agents, lambda _: Path())
    wanting = [agent for agent in settings.config.agents if kept.enabled(agent)]
    if not wanting:
        return ok("checkpoints", "no agent has any")
    if shutil.which("git") is None:
        found = "there is no git: what agents change cannot be undone"
        return warn("checkpoints", found, "install git")
    problems = [f"{agent}: {said}" for agent in wanting if (said := kept.problem(agent))]
    if problems:
        advice = "mend that, or set another checkpoint_max_mb for the agent"
        return warn("checkpoints", "\n".join(problems), advice)
    return ok("checkpoints", f"made before a turn changes files, for {', '.join(wanting)}")
