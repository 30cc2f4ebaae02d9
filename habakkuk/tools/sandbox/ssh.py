"""Another machine, through the ssh command and one shared connection."""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import shutil
import tempfile
import threading
import time
from pathlib import Path

from habakkuk.core.config.schema import AgentConfig, SshConfig
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.sandbox.contract import Ground, Order, Sandbox, Sheet
from habakkuk.tools.sandbox.remote import Client, client_variables, last_lines, remote

_TRUSTED_SECONDS = 30.0
_CONNECT_SECONDS = 40.0
_LONGEST_SOCKET = 80  # a socket's path may have 107 bytes, and ssh adds some while it makes it
# What one argument of a program may have on Linux, with room for what stands before it.
_LONGEST_COMMAND = 125_000
_INSTALL = "the sandbox `ssh` needs the ssh command (apt-get install openssh-client)"
_QUIET = (
    *("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20"),
    *("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"),
)


class Ssh(Sandbox):
    """A remote host. Its commands do not see this machine's files."""

    remote = True

    def __init__(self, ground: Ground, agent: str, config: AgentConfig) -> None:
        """Look up nothing yet."""
        super().__init__(ground, agent, config)
        self._lock = threading.Lock()
        self._seen_until = 0.0

    @property
    def _given(self) -> SshConfig:
        if self.config.ssh is None:
            raise ToolError(f"the agent {self.agent} has the sandbox ssh and no section `ssh`")
        return self.config.ssh

    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
        """Return the sheet; the connection is made first. Raises ToolError."""
        client = self._client(interrupt)
        with interrupt.holding(self._lock):
            options = self._options()
            if time.monotonic() >= self._seen_until:
                self._connect(client, options)
                self._seen_until = time.monotonic() + _TRUSTED_SECONDS
        there = remote(order.script, self._there(order.folder, workspace))
        # The shared connection was made outside of the shim, which ends all that a command leaves.
        reach = [client.program, *options, "-o", "ControlMaster=no", "--", self._target()]
        start = shlex.join(there.start)
        if len(start.encode()) > _LONGEST_COMMAND:
            raise ToolError("the command is too long for ssh; write it to a file there in parts")
        return Sheet(
            command=[*reach, start],
            variables=dict(client.variables),
            folder="/",
            seconds=order.seconds,
            workspace=str(workspace),
            stop=[*reach, shlex.join(there.stop)],
        )

    def objections(self) -> list[str]:
        """Return why no command can run there; empty when one can."""
        try:
            client = self._client(Interrupt())
            with self._lock:
                self._connect(client, self._options())
        except ToolError as error:
            return [str(error)]
        return []

    def describe(self) -> str:
        """Return which machine."""
        return f"on {self._target()} over ssh, in {self._given.workdir}"

    def _target(self) -> str:
        given = self._given
        return f"{given.user}@{given.host}" if given.user else given.host

    def _client(self, interrupt: Interrupt) -> Client:
        variables = client_variables(self.ground.process, ("SSH_AUTH_SOCK",))
        program = shutil.which("ssh", path=variables["PATH"])
        if program is None:
            raise ToolError(f"{_INSTALL}; commands of {self.agent} are refused until it is there")
        return Client(program, variables, interrupt)

    def _options(self) -> list[str]:
        given = self._given
        options = [*_QUIET, "-o", f"ControlPath={self._socket()}"]
        options += ["-p", str(given.port)] if given.port is not None else []
        key = self._key()
        return [*options, "-i", key, "-o", "IdentitiesOnly=yes"] if key else options

    def _connect(self, client: Client, options: list[str]) -> None:
        """Make the connection that commands share, unless there is one. Raises ToolError."""
        code, _, _ = client.run([*options, "-O", "check", "--", self._target()], _CONNECT_SECONDS)
        if code == 0:
            return
        share = ["-f", "-N", "-o", "ControlMaster=yes", "-o", "ControlPersist=10m"]
        # It stays, in a session of its own.
        done = client.ended([*options, *share, "--", self._target()], _CONNECT_SECONDS)
        if done.late:
            raise ToolError(f"{self._target()} does not answer over ssh")
        if done.code != 0:
            said = last_lines(done.errors.decode("utf-8", "replace"))
            raise ToolError(
                f"{self._target()} cannot be reached over ssh, so nothing was run: {said}"
            )

    def _there(self, folder: Path, workspace: Path) -> str:
        """Return the folder on the other machine that one of the workspace stands for."""
        inside = folder.relative_to(workspace) if folder.is_relative_to(workspace) else Path()
        return str(Path(self._given.workdir) / inside)

    def _folder(self) -> Path:
        if self.ground.home is None:
            raise ToolError("there is no home to keep the connection in")
        folder = self.ground.home / "ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _socket(self) -> str:
        given = self._given
        mark = f"{self.agent} {self._target()} {given.port} {self.ground.home}"
        name = hashlib.sha256(mark.encode()).hexdigest()[:12]
        path = self._folder() / name
        if len(os.fsencode(path)) <= _LONGEST_SOCKET:
            return str(path)
        short = Path(tempfile.gettempdir()) / f"habakkuk-ssh-{os.geteuid()}"
        short.mkdir(mode=0o700, exist_ok=True)
        found = short.lstat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o077 or short.is_symlink():
            raise ToolError(f"{short} is not this user's own folder; the operator can remove it")
        return str(short / name)

    def _key(self) -> str | None:
        """Return the path of the private key. Raises ToolError when the one named is missing."""
        name = self._given.key_env
        if name is None:
            return None
        value = (self.ground.secret(name) or "").strip()
        if not value:
            raise ToolError(
                f"the key for ssh is missing: the variable {name} is not set; nothing was run"
            )
        if "PRIVATE KEY" in value:
            return str(self._kept(value))
        path = Path(value).expanduser()
        if not path.is_file():
            raise ToolError(f"the key for ssh is missing: {name} names {path}; nothing was run")
        return str(path)

    def _kept(self, key: str) -> Path:
        """Keep a key in a file, as ssh wants it; whole or not at all."""
        path = self._folder() / f"{self.agent}.key"
        text = key.replace("\\n", "\n") + "\n"
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return path
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        part.rename(path)
        return path
