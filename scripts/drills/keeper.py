"""`python -m scripts.drills.keeper`: the service of background processes, with failpoints.

DRILL_FAILPOINT arms points in this process alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from habakkuk.core.config.environment import read_environment
from scripts.drills.worker import FAILPOINT
from workers import processes


def run(_arguments: Sequence[str], variables: Mapping[str, str]) -> int:
    """Be the service that these variables describe."""
    armed = dict(variables)
    if spec := variables.get(FAILPOINT):
        armed["HABAKKUK_FAILPOINT"] = spec
    return processes.main(read_environment(armed))


if __name__ == "__main__":
    sys.exit(run((), read_environment().process))
