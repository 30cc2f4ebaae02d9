"""`scripts/bench`: measure speed and size, and say whether every bar holds."""

from __future__ import annotations

import argparse
import json
import sys

from scripts.benches.bars import bars, broken
from scripts.benches.measure import Bench
from scripts.benches.plan import FULL, QUICK
from scripts.benches.stage import NotReady
from scripts.benches.table import lines
from scripts.harness.ending import end_cleanly_when_told
from scripts.harness.progress import Progress


def main() -> int:
    """Measure; 0 only when every bar that was measured holds."""
    end_cleanly_when_told()
    arguments = _parser().parse_args()
    progress = Progress(quiet=arguments.json)
    try:
        report = Bench(QUICK if arguments.quick else FULL, progress).run()
    except NotReady as error:
        print(f"The bench could not go on: {error}", file=sys.stderr)
        return 1
    finally:
        progress.end()
    found = bars(report)
    failing = broken(found)
    if arguments.json:
        verdicts = {"ok": not failing, "quick": arguments.quick}
        whole = verdicts | report | {"bars": [bar.as_json() for bar in found]}
        print(json.dumps(whole, indent=1))
    else:
        print("\n".join(lines(report, found)))
        for failure in report["failures"]:
            print(f"failed turn: {failure}")
    return 1 if failing else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of it, in under two minutes")
    parser.add_argument("--json", action="store_true", help="one object with every figure")
    return parser


if __name__ == "__main__":
    sys.exit(main())
