"""What the programs under the drill and the bench find in their environment."""

from __future__ import annotations

from habakkuk.core.config.environment import read_environment

# Tests say that nobody steps back for them: they are busier than any server.
_KEPT = ("HABAKKUK_WORKER_NICENESS",)


def plain_environment() -> dict[str, str]:
    """Return this process's environment without the developer's own settings and keys."""
    ours = ("HABAKKUK_", "DATABASE_URL", "REDIS_URL")
    keys = ("_API_KEY", "_API_TOKEN")
    process = read_environment().process
    return {
        name: value
        for name, value in process.items()
        if name in _KEPT or (not name.startswith(ours) and not name.endswith(keys))
    }
