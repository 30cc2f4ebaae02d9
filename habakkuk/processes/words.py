"""How people and models are told of a process."""

from __future__ import annotations

import signal

from habakkuk.processes.types import Process, ProcessState

_SHOWN = 120
_MINUTE, _HOUR = 60, 3600
_WORDS = {
    ProcessState.STARTING: "is being started",
    ProcessState.TIMED_OUT: "was killed{after}, the time it was given",
    ProcessState.KILLED: "was killed{after}, by {reason}",
    ProcessState.FAILED: "could not run: {reason}",
    ProcessState.STOPPED: "was ended{after}, when Habakkuk stopped; it was not started again",
}
_LOST = (
    "the service that kept it was killed, and it with it. How far it had come is not known, and it"
    " was not started again"
)


def span(seconds: float) -> str:
    """Return a duration, such as 2m3s."""
    if seconds < 1:
        return f"{max(0.0, seconds):.1f}s"
    whole = int(seconds)
    hours, minutes = whole // _HOUR, whole % _HOUR // _MINUTE
    rest = f"{whole % _MINUTE}s"
    if hours:
        return f"{hours}h{minutes}m{rest}"
    return f"{minutes}m{rest}" if minutes else rest


def short(command: str) -> str:
    """Return a command on one short line."""
    line = " ".join(command.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def standing(process: Process) -> str:
    """Return how a process stands, to follow its name: "exited with code 0 after 2m3s"."""
    after = "" if process.ran is None else f" after {span(process.ran)}"
    if process.state is ProcessState.RUNNING:
        ending = ", told to end" if process.kill_asked else ""
        return f"runs{ending}, for {span(process.ran or 0.0)}"
    if process.state is ProcessState.EXITED:
        return f"{_ended(process.code)}{after}"
    if process.state is ProcessState.LOST:
        return f"was lost{after.replace('after', 'after at most')}: {_LOST}"
    return _WORDS[process.state].format(after=after, reason=process.reason)


def notice(process: Process) -> str:
    """Return what the session is told of its end.

    Nothing of the output: that may come from anywhere, and this speaks as Habakkuk.
    """
    return (
        f"Background process {process.id} ({short(process.command)}) {standing(process)}."
        " process_output shows what it printed."
    )


def _ended(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
