"""A child of `up`: one row of the process table, running."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.processes import ROOT, ProcessSpec
from habakkuk.ops.spawn import Program
from habakkuk.ops.unit import Unit

_TETHER = str(Path(__file__).with_name("tether.py"))


class Child(Unit):
    """A process that ends when `up` ends, however that happens."""

    def __init__(self, spec: ProcessSpec, variables: Mapping[str, str], log: Path) -> None:
        """Take the command and the common variables; nothing is started."""
        super().__init__(spec.name, log)
        self._spec = spec
        self._variables = {**variables, **spec.variables}

    def start(self) -> None:
        """Start it. Only in the main thread: the tie is to the thread that starts it."""
        command = self._spec.command
        if platform.system() == "Linux":
            # -I -S: nothing of the environment or of site-packages is needed for the tie.
            command = (sys.executable, "-I", "-S", _TETHER, str(os.getpid()), *command)
        try:
            self._launch(Program(command, ROOT, self._variables))
        except OSError as error:
            raise ConfigurationError(f"{self.name} cannot be started: {error}") from error
