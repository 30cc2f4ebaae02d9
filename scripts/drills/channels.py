"""`python -m scripts.drills.channels`: the process that listens to platforms, as the nursery's."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from habakkuk.core.config.environment import read_environment
from workers import channels


def run(_arguments: Sequence[str], variables: Mapping[str, str]) -> int:
    """Be the process that these variables describe."""
    return channels.main(read_environment(dict(variables)))


if __name__ == "__main__":
    sys.exit(run((), read_environment().process))
