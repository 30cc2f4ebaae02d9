"""The console of a command: stdout, with or without colour."""

from __future__ import annotations

import sys

from habakkuk.core.config.settings import Settings
from habakkuk.ops.console import Console


def terminal_console(settings: Settings) -> Console:
    """Return stdout, coloured on a terminal unless NO_COLOR or a dumb terminal says otherwise."""
    plain = settings.environment.get("NO_COLOR") or settings.environment.get("TERM") == "dumb"
    return Console(sys.stdout, colour=sys.stdout.isatty() and not plain)


def plain_console() -> Console:
    """Return stdout without colour."""
    return Console(sys.stdout, colour=False)
