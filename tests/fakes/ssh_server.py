"""A real sshd on a loopback port, and an `ssh` that knows its key and reads no other settings."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import time
from pathlib import Path

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")


class SshServer:
    """Runs from `start` to `close`; `connections` are the lines of its log that tell of one."""

    def __init__(self, folder: Path) -> None:
        """Make keys and settings in `folder`."""
        self.folder = folder
        self.user = getpass.getuser()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        for name in ("host", "client"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)],
                check=True,
            )
        shutil.copy(folder / "client.pub", folder / "authorized")
        self._settings()
        self._process: subprocess.Popen[bytes] | None = None

    def _settings(self) -> None:
        folder = self.folder
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\n"
            f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nPermitRootLogin prohibit-password\nLogLevel VERBOSE\n"
        )
        public = (folder / "host.pub").read_text()
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {public}")
        (folder / "config").write_text(f"UserKnownHostsFile {folder}/known\n")
        program = folder / "ssh"
        program.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {folder}/config "$@"\n')
        program.chmod(0o755)

    @property
    def key(self) -> str:
        """The private key that may come in."""
        return (self.folder / "client").read_text()

    @property
    def environment(self) -> dict[str, str]:
        """What the server's environment must hold to use the `ssh` of this one."""
        return {"PATH": f"{self.folder}:/usr/bin:/bin"}

    @property
    def logins(self) -> int:
        """How often somebody came in."""
        return (self.folder / "log").read_text(errors="replace").count("Accepted publickey")

    def start(self) -> None:
        """Run it and wait until it answers."""
        assert SSHD is not None
        Path("/run/sshd").mkdir(exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
            except OSError:
                assert time.monotonic() < until, (self.folder / "log").read_text()
                time.sleep(0.05)
            else:
                return

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
