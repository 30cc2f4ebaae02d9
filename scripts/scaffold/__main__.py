"""The command line of scripts/new-channel."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from habakkuk.channels.registry import manifests
from scripts.scaffold.channel import Refused, make
from scripts.scaffold.table import settings_table

_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Do what the arguments ask for; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/new-channel", description=__doc__)
    parser.add_argument("name", help="small letters and digits, such as mattermost")
    parser.add_argument("--title", help="what people call the platform")
    parser.add_argument("--table", action="store_true", help="print a channel's settings table")
    asked = parser.parse_args()
    if asked.table:
        return _table(asked.name)
    try:
        made = make(_ROOT, asked.name, asked.title or asked.name.capitalize())
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    print("\n".join(str(path.relative_to(_ROOT)) for path in made))
    print(
        f"\nNow `pytest tests/contract/channels -k {asked.name}` fails. Fill in manifest.py, then"
        f" wire and adapter until it passes; `scripts/new-channel --table {asked.name}` prints the"
        " table of its page anew."
    )
    return 0


def _table(name: str) -> int:
    known = manifests()
    if name not in known:
        print(f"there is no channel {name!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 1
    print(settings_table(known[name].settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
