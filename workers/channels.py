"""`python -m workers.channels`: the process that listens to chat platforms, to its end."""

from __future__ import annotations

import sys

from habakkuk.bootstrap import Container
from habakkuk.core.config.environment import Environment
from workers.service import serve


def main(environment: Environment | None = None) -> int:
    """Listen until told to end."""
    return serve("channels", Container.supervisor, environment)


if __name__ == "__main__":
    sys.exit(main())
