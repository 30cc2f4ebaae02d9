"""`up --detach`: start `up` apart from the terminal, and return when it is healthy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.console import Console
from habakkuk.ops.home import HomeFolder, open_log, prepare_home
from habakkuk.ops.identity import identify
from habakkuk.ops.lock import take_lock
from habakkuk.ops.login import say_owner_link
from habakkuk.ops.processes import ROOT
from habakkuk.ops.run_file import read_run, resolve_settings
from habakkuk.ops.spawn import Program, start_server
from habakkuk.ops.stop import StopSignal

_POLL_SECONDS = 0.1


def run_detached(settings: Settings, options: Sequence[str], console: Console) -> int:
    """Start `up` with `options` in a session of its own and show what it says until it is healthy.

    Return 0 then, else its exit code. Raises Conflict when another `up` has the home.
    """
    home = prepare_home(settings.home)
    # Only to say at once that another one runs; the new process takes it for itself.
    os.close(take_lock(home))
    stop = StopSignal()
    stop.listen()
    log = open_log(home.log("up"))
    shown = os.lseek(log, 0, os.SEEK_END)
    variables = {
        **settings.environment.process,
        "HABAKKUK_HOME": str(settings.home),
        "PYTHONPATH": str(ROOT),
    }
    command = (sys.executable, "-m", "web.cli", "up", "--detached", *options)
    try:
        process = start_server(Program(command, ROOT, variables), log)
    except OSError as error:
        raise ConfigurationError(f"up cannot be started: {error}") from error
    finally:
        os.close(log)
    code = _Follower(home, process, console, shown).follow(stop)
    if code == 0:
        say_owner_link(console, resolve_settings(settings))
    return code


class _Follower:
    """Shows what the new process writes into its log."""

    def __init__(
        self, home: HomeFolder, process: subprocess.Popen[bytes], console: Console, shown: int
    ) -> None:
        self._home = home
        self._process = process
        self._console = console
        self._shown = shown
        self._welcomed = False

    def follow(self, stop: StopSignal) -> int:
        """Return 0 when it is healthy, its exit code when it ended. Ctrl+C ends it."""
        passed_on = 0
        while not self._healthy():
            code = self._process.poll()
            if code is not None:
                self._show()
                return code if code > 0 or stop.requested else 1
            if stop.count > passed_on:
                passed_on = stop.count
                self._process.send_signal(signal.SIGTERM)
            stop.sleep(_POLL_SECONDS)
            self._show()
        self._show()
        # It stays: nobody waits for it any more.
        self._process.returncode = 0
        return 0

    def _healthy(self) -> bool:
        """Whether its welcome was shown, which follows its state, and it still runs."""
        run = read_run(self._home.root)
        return (
            self._welcomed
            and run is not None
            and run.state == "running"
            and run.up == identify(self._process.pid)
        )

    def _news(self) -> bytes:
        with self._home.log("up").open("rb") as log:
            log.seek(self._shown)
            return log.read()

    def _show(self) -> None:
        """Pass on the lines that are complete."""
        whole, newline, _ = self._news().rpartition(b"\n")
        for line in whole.splitlines() if newline else []:
            self._console.say(line.decode("utf-8", "replace"))
            # The last line of the welcome.
            self._welcomed = self._welcomed or line.strip().startswith(b"Stop ")
        self._shown += len(whole) + len(newline)
