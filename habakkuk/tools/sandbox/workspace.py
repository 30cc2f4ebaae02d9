"""The workspace and nothing else: closed by Landlock and seccomp, or by bubblewrap."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.programs import Bounds, Program, run
from habakkuk.tools.sandbox.contract import Ground, Order, Sandbox, Sheet
from habakkuk.tools.sandbox.none import local_sheet

_CONFINE = str(Path(__file__).parents[1] / "confine.py")
_LIBRARIES = ("sandlock", "landlock")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix")
_LOOKED_UP = ("/run/systemd/resolve", "/run/resolvconf", "/run/nscd")
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))
_TRIAL = Bounds(seconds=20.0, output=1_000_000, errors=1_000_000)
_MEND = (
    "its sandbox is `workspace`, and nothing here can make it: {reasons}. The operator can run"
    " Habakkuk on Linux 6.2 or later, or install bubblewrap (apt-get install bubblewrap), or choose"
    " another sandbox; until then its commands are refused"
)


@dataclass(frozen=True)
class Wall:
    """One way to close a command in. `site` is where its library is; bwrap is a program."""

    name: str
    site: str = ""
    program: str = ""


class Probe:
    """Finds the first wall that works on this machine, once a process."""

    def __init__(self, candidates: Callable[[], list[Wall | str]] | None = None) -> None:
        """`candidates` gives walls in order, or why one is none."""
        self._candidates = candidates or _candidates
        self._lock = threading.Lock()
        self._found: Wall | list[str] | None = None

    def wall(self) -> Wall | list[str]:
        """Return the wall, or why there is none."""
        with self._lock:
            if self._found is None:
                self._found = self._look()
            return self._found

    def _look(self) -> Wall | list[str]:
        reasons: list[str] = []
        for candidate in self._candidates():
            reason = candidate if isinstance(candidate, str) else _tried(candidate)
            if reason is None and isinstance(candidate, Wall):
                return candidate
            reasons.append(reason or "")
        return reasons


class WorkspaceOnly(Sandbox):
    """This machine, with nothing of it but the system's programs and the workspace."""

    def __init__(
        self, ground: Ground, agent: str, config: AgentConfig, probe: Probe | None = None
    ) -> None:
        """`probe` finds what closes commands in."""
        super().__init__(ground, agent, config)
        self._probe = probe or Probe()

    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:  # noqa: ARG002 - the base's signature
        """Return the sheet. Raises ToolError where no wall stands."""
        wall = self._probe.wall()
        if not isinstance(wall, Wall):
            raise ToolError("the command was not run: " + _mend(wall))
        sheet = local_sheet(self.ground, order, workspace)
        variables = sheet.variables | {"HOME": str(workspace)}
        sheet = replace(sheet, variables=variables)
        return self._wrapped(sheet, wall) if wall.program else self._closed(sheet, wall)

    def objections(self) -> list[str]:
        """Return why no wall stands; empty when one does."""
        wall = self._probe.wall()
        return [] if isinstance(wall, Wall) else [_mend(wall)]

    def describe(self) -> str:
        """Return which wall stands."""
        wall = self._probe.wall()
        network = "with" if self.config.workspace.network else "without"
        name = wall.name if isinstance(wall, Wall) else "nothing"
        return f"in its workspace alone, closed by {name}, {network} network"

    def _read(self) -> list[str]:
        given = self.config.workspace
        return [*_SYSTEM, *given.read, *(_LOOKED_UP if given.network else ())]

    def _closed(self, sheet: Sheet, wall: Wall) -> Sheet:
        confine: dict[str, object] = {
            "library": wall.name,
            "site": wall.site,
            "read": [*self._read(), "/proc", "/sys/devices/system/cpu"],
            "write": [sheet.workspace, *(path for path in _DEVICES if Path(path).exists())],
            "network": self.config.workspace.network,
        }
        return replace(sheet, confine=confine)

    def _wrapped(self, sheet: Sheet, wall: Wall) -> Sheet:
        open_net = ["--share-net"] if self.config.workspace.network else []
        shown = [part for path in self._read() for part in ("--ro-bind-try", path, path)]
        command = [
            *(wall.program, "--die-with-parent", "--unshare-all", *open_net),
            *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", *shown),  # noqa: S108 - of its own
            *(
                "--bind",
                sheet.workspace,
                sheet.workspace,
                "--chdir",
                str(Path(sheet.folder).resolve()),
            ),
            *("--", *sheet.command),
        ]
        return replace(sheet, command=command)


def _candidates() -> list[Wall | str]:
    found: list[Wall | str] = []
    for library in _LIBRARIES:
        spec = importlib.util.find_spec(library)
        if spec is None or spec.origin is None:
            found.append(f"{library} is not installed")
        else:
            found.append(Wall(library, site=str(Path(spec.origin).parents[1])))
    program = shutil.which("bwrap")
    found.append(Wall("bubblewrap", program=program) if program else "bwrap is not installed")
    return found


def _tried(wall: Wall) -> str | None:
    """Return why a wall does not stand here, None when it does: it is put up and leant against."""
    if wall.program:
        argv = [wall.program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"]
        argv += ["--", shutil.which("true") or "/bin/true"]
    else:
        argv = [sys.executable, "-I", "-S", _CONFINE, wall.name, wall.site]
    try:
        done = run(Program(argv), _TRIAL, Interrupt())
    except OSError as error:
        return f"{wall.name} cannot be tried ({type(error).__name__})"
    if done.code == 0:
        return None
    said = done.errors.decode("utf-8", "replace").strip().splitlines()
    return f"{wall.name} does not work here ({said[-1] if said else done.code})"


def _mend(reasons: list[str]) -> str:
    return _MEND.format(reasons="; ".join(reasons))
