"""The embedded Valkey (or Redis): append-only, never evicting, on a unix socket."""

from __future__ import annotations

import re
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.account import ServiceUser
from habakkuk.ops.binaries import Binary
from habakkuk.ops.home import last_lines
from habakkuk.ops.identity import ProcessIdentity, identify
from habakkuk.ops.spawn import PLAIN_VARIABLES, Program
from habakkuk.ops.unit import Unit

_START_SECONDS = 30.0
_ANSWER_SECONDS = 1.0


@dataclass(frozen=True)
class ValkeyPlace:
    """Where one embedded Valkey lives and as whom."""

    data: Path
    sockets: Path
    user: ServiceUser | None


class ValkeyServer(Unit):
    """One Valkey on a unix socket, with no TCP port. It holds nothing that may not be lost."""

    may_hurry = False

    def __init__(self, binary: Binary, place: ValkeyPlace, log: Path) -> None:
        """Take the program and the place; nothing is started."""
        super().__init__("valkey", log)
        self._binary = binary
        self._place = place
        self._socket = place.sockets / "valkey.sock"

    @property
    def url(self) -> str:
        """The URL as redis-py writes it."""
        return f"unix://{quote(str(self._socket), safe='/')}?db=0"

    def start(self) -> None:
        """Start or adopt the server and wait until it answers."""
        running = self._running()
        if running is not None and self._answers():
            self._adopt(running)
            return
        if running is not None:
            # It holds our socket and does not answer: frozen, or never came up.
            running.send(signal.SIGKILL)
            running.wait(10)
        self._launch_afresh()
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        """Wait until it answers. Data that it cannot read is set aside: it is never the truth."""
        deadline = time.monotonic() + _START_SECONDS
        set_aside = False
        while not self._answers():
            reason = self.ended()
            if reason is None and time.monotonic() < deadline:
                time.sleep(0.01)
            elif reason is not None and not set_aside and self._unreadable():
                set_aside = True
                self._set_data_aside()
                self._launch_afresh()
            else:
                said = last_lines(self.log, 1)
                raise ConfigurationError(
                    f"Valkey {reason or f'did not answer within {_START_SECONDS:.0f} s'}:"
                    f" {said[0] if said else 'it said nothing'} (its log: {self.log})"
                )

    def _launch_afresh(self) -> None:
        self._socket.unlink(missing_ok=True)
        variables = dict(PLAIN_VARIABLES)
        self._launch(Program(self._command(), self._place.data, variables, self._place.user))

    def _command(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._place.data),
            "pidfile": str(self._pid_file),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            "save": "",
            "daemonize": "no",
            "set-proc-title": "no",
        }
        command = [str(self._binary.path)]
        for name, value in options.items():
            command += [f"--{name}", value]
        return command

    @property
    def _pid_file(self) -> Path:
        return self._place.data / "valkey.pid"

    def _running(self) -> ProcessIdentity | None:
        """Return the server that runs on this data, whoever started it."""
        try:
            identity = identify(int(self._pid_file.read_text().strip() or 0))
        except (FileNotFoundError, ValueError):
            return None
        if identity is None or str(self._socket) not in identity.arguments():
            return None
        return identity

    def _answers(self) -> bool:
        """Ask as its protocol's plainest client would; anything but PONG means not yet."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_ANSWER_SECONDS)
            try:
                line.connect(str(self._socket))
                line.sendall(b"PING\r\n")
                return line.recv(64).startswith(b"+PONG")
            except OSError:
                return False

    def _unreadable(self) -> bool:
        said = "\n".join(last_lines(self.log))
        return re.search(r"append.?only|AOF|RDB", said, re.IGNORECASE) is not None

    def _set_data_aside(self) -> None:
        for path in self._place.data.glob("appendonlydir"):
            path.rename(path.with_name(f"{path.name}.unreadable-{time.time_ns()}"))
