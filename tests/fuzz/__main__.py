"""The command line of scripts/fuzz."""

from __future__ import annotations

import argparse
import secrets
import sys

from tests.fuzz.running import Failed, fuzz, replay, targets


def main() -> int:
    """Run the targets that are named, or all; 1 when a promise does not hold."""
    known = targets()
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TARGET", help=f"of {', '.join(known)}")
    parser.add_argument("--seconds", type=float, default=60, help="for each target (60)")
    parser.add_argument("--seed", type=int, default=None, help="of the first round; by chance")
    given = parser.parse_args()
    if unknown := set(given.names) - set(known):
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    first = secrets.randbelow(2**31) if given.seed is None else given.seed
    failed = False
    for name in given.names or known:
        try:
            kept = replay(known[name])
            count = fuzz(known[name], given.seconds, first)
        except Failed as error:
            failed = True
            print(f"{name}: FAILED with seed {first}\n{error}", flush=True)
        else:
            print(f"{name}: {kept} kept and {count} new cases hold (seed {first})", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
