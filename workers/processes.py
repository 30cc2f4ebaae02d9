"""`python -m workers.processes`: the service that keeps background processes, to its end."""

from __future__ import annotations

import sys

from habakkuk.bootstrap import Container
from habakkuk.core.config.environment import Environment
from workers.service import serve


def main(environment: Environment | None = None) -> int:
    """Keep processes until told to end; then end them and return."""
    return serve("processes", Container.keeper, environment, steps_back=True)


if __name__ == "__main__":
    sys.exit(main())
