"""Named points at every step boundary where a drill may kill the process.

They do nothing unless armed. The spec is a comma-separated list of `name=probability` or
`name=#n` (the n-th time this process comes by); a `*` as name means every point.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from pathlib import Path

from habakkuk.core.errors import ConfigurationError


class Failpoints:
    """The armed points of this process."""

    def __init__(self, spec: str = "", log: Path | None = None) -> None:
        """Parse the spec; `log` gets one line a kill, written before it.

        Raises ConfigurationError when the spec cannot be read.
        """
        self._chances: dict[str, float] = {}
        self._counted: dict[str, int] = {}
        self._log = log
        self._hits: Counter[str] = Counter()
        self._lock = threading.Lock()
        for part in filter(None, (p.strip() for p in spec.split(","))):
            name, _, value = part.partition("=")
            try:
                if value.startswith("#"):
                    self._counted[name] = int(value[1:])
                else:
                    self._chances[name] = float(value)
            except ValueError as error:
                raise ConfigurationError(
                    f"HABAKKUK_FAILPOINT: {part!r} is neither name=probability nor name=#n"
                ) from error
        self._armed = bool(self._chances or self._counted)

    def hit(self, name: str) -> None:
        """Pass the point `name`; SIGKILL this process when it is armed and due."""
        if self._armed and self._due(name):
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as out:
                    out.write(f"{name} {os.getpid()}\n")
            os.kill(os.getpid(), signal.SIGKILL)

    def _due(self, name: str) -> bool:
        with self._lock:
            self._hits.update((name, "*"))
            if any(self._counted.get(key) == self._hits[key] for key in (name, "*")):
                return True
        chance = self._chances.get(name, self._chances.get("*", 0.0))
        return chance > 0 and random.random() < chance  # noqa: S311 - a drill, no secret
