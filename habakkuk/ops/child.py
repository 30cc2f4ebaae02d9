"""A child of `up`: one row of the process table, running."""

from __future__ import annotations

import dataclasses
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.processes import ROOT, ProcessSpec
from habakkuk.ops.spawn import Program, start_server
from habakkuk.ops.unit import Running, Start, Unit

_TETHER = str(Path(__file__).with_name("tether.py"))


def start_tied(program: Program, log: int) -> Running:
    """Start a program that ends with this process, where that can be had."""
    if platform.system() == "Linux":
        # -I -S: nothing of the environment or of site-packages is needed for the tie.
        tether = (sys.executable, "-I", "-S", _TETHER, str(os.getpid()))
        program = dataclasses.replace(program, arguments=(*tether, *program.arguments))
    return start_server(program, log)


class Child(Unit):
    """A process that ends when `up` ends, however that happens."""

    def __init__(
        self,
        spec: ProcessSpec,
        variables: Mapping[str, str],
        log: Path,
        begin: Start = start_tied,
    ) -> None:
        """Take the command, the common variables and how it begins; nothing is started."""
        super().__init__(spec.name, log)
        self._program = Program(spec.command, ROOT, {**variables, **spec.variables})
        self._begin = begin

    def start(self) -> None:
        """Start it. Only in the main thread: the tie is to the thread that starts it."""
        try:
            self._launch(self._program, self._begin)
        except OSError as error:
            raise ConfigurationError(f"{self.name} cannot be started: {error}") from error
