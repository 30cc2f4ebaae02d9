"""The child that reads one document: `python -I program.py ORDER`, the document as its input.

It loads what it needs, gives up everything else (core/confined), and only then reads: documents are
written by anybody, and the reader of PDFs is a large C++ program.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

# What is loaded when it is first used, which will be too late: names in archives, parts in XML.
_ENCODINGS = ("cp437", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "ascii")
_MEMORY = 1_500_000_000
_CPU_SECONDS = 40
_WALL_SECONDS = 80


def main() -> None:
    """Read the order and the document, give up what is not needed, answer."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from habakkuk.core.confined import (  # noqa: PLC0415 - after the path is known
        Allowance,
        die_with_parent,
        give_up,
    )

    die_with_parent()
    from habakkuk.documents.reading import read  # noqa: PLC0415 - as above
    from habakkuk.documents.types import Unreadable  # noqa: PLC0415 - as above

    order = json.loads(sys.argv[1])
    data = sys.stdin.buffer.read()
    for encoding in _ENCODINGS:
        codecs.lookup(encoding)
    give_up(Allowance(_MEMORY, _CPU_SECONDS, _WALL_SECONDS))
    try:
        found = read(data, order["pages"], order["offset"], order["limit"])
        told = asdict(found) | {"chosen": list(found.chosen)}
    except Unreadable as unreadable:
        told = {"unreadable": str(unreadable)}
    except MemoryError:
        told = {"unreadable": "it takes too much memory to read"}
    sys.stdout.buffer.write(json.dumps(told).encode())
    sys.stdout.buffer.flush()
    # Nothing is to be tidied up, and a broken library could hang in it.
    os._exit(0)


if __name__ == "__main__":
    main()
