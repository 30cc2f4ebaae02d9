"""The child that reads one image: `python -I program.py ORDER`, the image as its input.

It loads what it needs, gives up everything else (core/confined), and only then reads: decoders of
images are large C libraries. It answers with a line of JSON and the image, where it made another.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

_MEMORY = 600_000_000
_CPU_SECONDS = 20
_WALL_SECONDS = 40


def main() -> None:
    """Read the order and the image, give up what is not needed, answer."""
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from habakkuk.core.confined import (  # noqa: PLC0415 - after the path is known
        Allowance,
        die_with_parent,
        give_up,
    )

    die_with_parent()
    from habakkuk.llm.media.fitting import fit_image, prepare  # noqa: PLC0415 - as above
    from habakkuk.llm.media.types import ImageLimits, Unfit  # noqa: PLC0415 - as above

    order = json.loads(sys.argv[1])
    limits = ImageLimits(frozenset(order.pop("types")), **order.pop("limits"))
    data = sys.stdin.buffer.read()
    prepare()
    # Nobody reads them, and showing one loads more.
    warnings.simplefilter("ignore")
    give_up(Allowance(_MEMORY, _CPU_SECONDS, _WALL_SECONDS))
    made = b""
    told: dict[str, object]
    try:
        fitted = fit_image(data, order["mime"], limits)
        same = fitted.data is data
        made = b"" if same else fitted.data
        told = {"same": same, "size": fitted.size, "shown": fitted.shown}
    except Unfit as unfit:
        told = {"flaw": str(unfit)}
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + made)
    sys.stdout.buffer.flush()
    # Nothing is to be tidied up, and a broken library could hang in it.
    os._exit(0)


if __name__ == "__main__":
    main()
