"""A container of the agent's own, through the docker command."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.sandbox.contract import Ground, Order, Sandbox, Sheet
from habakkuk.tools.sandbox.remote import Client, client_variables, remote

_NAMES = (
    *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"),
    *("DOCKER_API_VERSION", "SSH_AUTH_SOCK"),
)
_SETTINGS, _WORKSPACE = "habakkuk.settings", "habakkuk.workspace"
_TRUSTED_SECONDS = 30.0
_PULL_SECONDS = 600.0
_STAYS = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"
_INSTALL = (
    "the sandbox `docker` needs the docker command (install Docker or Docker's command line, and"
    " let the user that runs Habakkuk use it)"
)


class Docker(Sandbox):
    """One long-lived container an agent, with the workspace at its own path."""

    def __init__(self, ground: Ground, agent: str, config: AgentConfig) -> None:
        """Look up nothing yet."""
        super().__init__(ground, agent, config)
        self._lock = threading.Lock()
        self._seen_until = 0.0

    @property
    def container(self) -> str:
        """The container's name."""
        return f"habakkuk-{self.agent}"

    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
        """Return the sheet; the container is made or started first. Raises ToolError."""
        client = self._client(interrupt)
        with interrupt.holding(self._lock):
            if time.monotonic() >= self._seen_until:
                self._ensure(client, workspace)
                self._seen_until = time.monotonic() + _TRUSTED_SECONDS
        there = remote(order.script, str(order.folder))
        enter = [client.program, "exec", "-i", "-e", f"HOME={workspace}"]
        return Sheet(
            command=[*enter, self.container, *there.start],
            variables=dict(client.variables),
            folder="/",
            seconds=order.seconds,
            workspace=str(workspace),
            stop=[*enter, self.container, *there.stop],
        )

    def objections(self) -> list[str]:
        """Return why no command can run in a container here; empty when one can."""
        try:
            asked = ["version", "--format", "{{.Server.Version}}"]
            code, _, said = self._client(Interrupt()).run(asked, 20)
        except ToolError as error:
            return [str(error)]
        return [] if code == 0 else [f"docker does not answer: {said}"]

    def describe(self) -> str:
        """Return which container."""
        network = "with" if self.config.docker.network else "without"
        return f"in the container {self.container} of {self.config.docker.image}, {network} network"

    def _client(self, interrupt: Interrupt) -> Client:
        variables = client_variables(self.ground.process, _NAMES)
        program = shutil.which("docker", path=variables["PATH"])
        if program is None:
            raise ToolError(f"{_INSTALL}; commands of {self.agent} are refused until it is there")
        return Client(program, variables, interrupt)

    def _ensure(self, client: Client, workspace: Path) -> None:
        """Make, renew or start the container, whatever state it was left in."""
        wanted = self._settings(workspace)
        found = self._inspect(client)
        if found is not None:
            running, labels = found
            if labels.get(_WORKSPACE) != str(workspace):
                raise ToolError(
                    f"the container {self.container} is not this agent's (it is labelled"
                    f" {labels.get(_WORKSPACE)!r}); the operator can rename or remove it"
                )
            if labels.get(_SETTINGS) == wanted and (running or self._start(client)):
                return
            self._docker(client, ["rm", "-f", self.container])
        self._create(client, workspace, wanted)

    def _create(self, client: Client, workspace: Path, wanted: str) -> None:
        code, _, said = client.run(self._run_args(workspace, wanted), _PULL_SECONDS)
        if code == 0:
            return
        # Another worker may have been quicker.
        found = self._inspect(client)
        if found is None or found[1].get(_SETTINGS) != wanted:
            raise ToolError(f"the container {self.container} cannot be made: {said}")

    def _run_args(self, workspace: Path, wanted: str) -> list[str]:
        given = self.config.docker
        if ":" in str(workspace):
            raise ToolError(f"docker cannot mount {workspace}: its path holds a colon")
        args = ["run", "-d", "--init", "--name", self.container, "--hostname", self.container]
        args += ["--label", f"{_SETTINGS}={wanted}", "--label", f"{_WORKSPACE}={workspace}"]
        args += ["--security-opt", "no-new-privileges", "--volume", f"{workspace}:{workspace}"]
        args += ["--workdir", str(workspace)]
        args += ["--network", "none"] if not given.network else []
        args += ["--cpus", f"{given.cpus:g}"] if given.cpus is not None else []
        args += ["--memory", str(given.memory)] if given.memory is not None else []
        args += ["--pids-limit", str(given.pids)] if given.pids is not None else []
        user = self._user(workspace)
        args += ["--user", user] if user is not None else []
        return [*args, given.image, "bash", "-c", _STAYS]

    def _user(self, workspace: Path) -> str | None:
        given = self.config.docker.user
        if given is not None:
            return None if given == "image" else given
        owner = workspace.stat()
        return f"{owner.st_uid}:{owner.st_gid}"

    def _settings(self, workspace: Path) -> str:
        """Return what the container's label is when it is as it is configured to be."""
        made = self._run_args(workspace, "")
        return hashlib.sha256(json.dumps(made).encode()).hexdigest()[:16]

    def _inspect(self, client: Client) -> tuple[bool, dict[str, str]] | None:
        form = "{{json .State.Running}}\n{{json .Config.Labels}}"
        code, told, said = client.run(
            ["inspect", "--type", "container", "--format", form, self.container]
        )
        if code != 0:
            if "no such" in said.lower():
                return None
            raise ToolError(f"docker does not answer: {said}")
        running, _, labels = told.strip().partition("\n")
        return json.loads(running) is True, json.loads(labels) or {}

    def _start(self, client: Client) -> bool:
        code, _, _ = client.run(["start", self.container])
        return code == 0

    def _docker(self, client: Client, args: Sequence[str]) -> None:
        code, _, said = client.run(args)
        if code != 0:
            raise ToolError(f"docker {args[0]} failed: {said}")
