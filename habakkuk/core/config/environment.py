"""The only reader of the process environment.

Values come from the environment, then from `$HABAKKUK_HOME/.env` (0600): the process wins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dotenv import dotenv_values

DEFAULT_HOME = "~/.habakkuk"
DEFAULT_LISTEN = "127.0.0.1:8484"


@dataclass(frozen=True)
class Environment:
    """What the process was started with. `values` never appears in a repr, it holds secrets.

    `process` is without the home's `.env`: what children are started with, so that they read the
    file themselves and see its changes.
    """

    home: Path
    values: Mapping[str, str] = field(repr=False)
    process: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, name: str) -> str | None:
        """Return a variable's value; None when it is unset or empty."""
        return self.values.get(name) or None


def read_environment(base: Mapping[str, str] | None = None) -> Environment:
    """Return the environment of this process (or `base`), completed from the home's `.env`."""
    process = dict(os.environ if base is None else base)
    home = Path(process.get("HABAKKUK_HOME") or DEFAULT_HOME).expanduser().absolute()
    stored: dict[str, str | None] = {}
    path = home / ".env"
    if path.is_file() and os.access(path, os.R_OK):
        stored = dotenv_values(path, interpolate=False)
    values = {key: value for key, value in stored.items() if value} | process
    return Environment(home=home, values=values, process=process)


def replace_environment(variables: Mapping[str, str]) -> None:
    """Give this process the environment `variables`: a fork begins with its parent's."""
    os.environ.clear()
    os.environ.update(variables)
