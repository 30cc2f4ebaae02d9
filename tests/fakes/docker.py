"""A docker engine and its command line, without containers: commands run here.

As with the real one, `docker exec` only speaks to the engine: what it started is the engine's child
and lives on when the client is killed. The engine's socket lies in DOCKER_CONFIG.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

_CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as engine:
    try:
        engine.connect(os.environ["DOCKER_CONFIG"] + "/s")
    except OSError:
        sys.exit("Cannot connect to the Docker daemon. Is the docker daemon running?")
    socket.send_fds(engine, [b"x"], [0, 1, 2])
    engine.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    answer = engine.makefile().readline()
sys.exit(json.loads(answer) if answer else 125)
"""


class FakeDocker:
    """The engine; `calls` are the argvs it was given."""

    def __init__(self, folder: Path) -> None:
        """Listen in `folder`, and put the program `docker` into it."""
        self.folder = folder
        self.calls: list[list[str]] = []
        self.containers: dict[str, dict[str, Any]] = {}
        self.started: list[subprocess.Popen[bytes]] = []
        program = folder / "docker"
        program.write_text(_CLIENT.format(python=sys.executable))
        program.chmod(0o755)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / "s"))
        self._socket.listen(16)
        self._threads: list[threading.Thread] = []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """What the server's environment must hold to speak to this one."""
        return {"PATH": f"{self.folder}:/usr/bin:/bin", "DOCKER_CONFIG": str(self.folder)}

    def given(self, verb: str) -> list[list[str]]:
        """Return the calls of one kind."""
        return [call for call in self.calls if call[0] == verb]

    def close(self) -> None:
        """End what still runs."""
        self._socket.close()
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client:
            _, handles, _, _ = socket.recv_fds(client, 1, 3)
            try:
                line = client.makefile().readline()
                if not line:
                    # Killed before it said what it wanted.
                    return
                argv = json.loads(line)
                self.calls.append(argv)
                code = getattr(self, f"_{argv[0]}")(argv[1:], handles)
            finally:
                for handle in handles:
                    os.close(handle)
            try:
                client.sendall(json.dumps(code).encode() + b"\n")
            except OSError:
                return

    def _version(self, _: list[str], handles: list[int]) -> int:
        os.write(handles[1], b"27.0.0\n")
        return 0

    def _inspect(self, args: list[str], handles: list[int]) -> int:
        found = self.containers.get(args[-1])
        if found is None:
            os.write(handles[2], f"Error: No such container: {args[-1]}\n".encode())
            return 1
        told = f"{json.dumps(found['running'])}\n{json.dumps(found['labels'])}\n"
        os.write(handles[1], told.encode())
        return 0

    def _run(self, args: list[str], handles: list[int]) -> int:
        name = args[args.index("--name") + 1]
        if name in self.containers:
            os.write(handles[2], f"Conflict. The name {name} is already in use\n".encode())
            return 125
        labels = [args[n + 1] for n, arg in enumerate(args) if arg == "--label"]
        pairs = (label.split("=", 1) for label in labels)
        self.containers[name] = {"running": True, "labels": dict(pairs), "args": args}
        os.write(handles[1], b"0123456789ab\n")
        return 0

    def _start(self, args: list[str], _: list[int]) -> int:
        self.containers[args[0]]["running"] = True
        return 0

    def _rm(self, args: list[str], _: list[int]) -> int:
        del self.containers[args[-1]]
        return 0

    def _exec(self, args: list[str], handles: list[int]) -> int:
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(self.folder)}
        while args[0].startswith("-"):
            if args.pop(0) == "-e":
                name, _, value = args.pop(0).partition("=")
                variables[name] = value
        if not self.containers[args[0]]["running"]:
            os.write(handles[2], b"container is not running\n")
            return 1
        process = subprocess.Popen(
            args[1:],
            env=variables,
            stdin=handles[0],
            stdout=handles[1],
            stderr=handles[2],
            start_new_session=True,
        )
        self.started.append(process)
        code = process.wait()
        return 128 - code if code < 0 else code
