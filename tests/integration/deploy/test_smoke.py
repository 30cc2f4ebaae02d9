"""The compose file's very commands, with its environment, as processes of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.databases import connected
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import CONFIG, until
from tests.integration.deploy.compose import ROOT, own, services
from tests.servers import ValkeyServer

_DOMAIN = "chat.example.org"


class Deployment:
    """Every service of our image as a process; the databases are the tests' own."""

    def __init__(self, home: Path, database_url: str, redis_url: str) -> None:
        self.home = home
        variables = {"DOMAIN": _DOMAIN, "POSTGRES_PASSWORD": "p", "REDIS_PASSWORD": "r"}
        self.services = own(services(variables))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._replaced = {
            "HABAKKUK_HOME": str(home),
            "HABAKKUK_LISTEN": f"127.0.0.1:{self.port}",
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def environment(self, service: str) -> dict[str, str]:
        given: Mapping[str, str] = self.services[service]["environment"]
        assert self._replaced.keys() <= given.keys()
        named = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "MINE_KEY": "from-env-file"}
        if "LLVM_PROFILE_FILE" in os.environ:
            named["LLVM_PROFILE_FILE"] = os.environ["LLVM_PROFILE_FILE"]
        return {**named, **given, **self._replaced}

    def words(self, words: list[str]) -> list[str]:
        """Return a command as it reads on this machine."""
        return [
            sys.executable
            if word == "python"
            else word.replace("/app", str(ROOT)).replace("/data", str(self.home))
            for word in words
        ]

    def run(self, service: str, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in a service, as `docker compose exec` does, to its end."""
        return subprocess.run(
            self.words(words),
            env=self.environment(service),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    def start(self, service: str) -> None:
        with (self.home / f"{service}.out").open("wb") as log:
            self.processes[service] = subprocess.Popen(
                self.words(self.services[service]["command"]),
                env=self.environment(service),
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    def workers_are_there(self) -> bool:
        """Say whether as many workers have said that they live as there are services of them."""
        services = [name for name in self.services if name.startswith("worker-")]
        with connected(self._replaced["DATABASE_URL"]) as line, line.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM workers")
            return cursor.fetchall() == [(len(services),)]

    def healthy(self, service: str) -> bool:
        assert self.processes[service].poll() is None, self.said(service)
        check: list[str] = self.services[service]["healthcheck"]["test"]
        assert check[0] == "CMD"
        return self.run(service, check[1:]).returncode == 0

    def said(self, service: str) -> str:
        return (self.home / f"{service}.out").read_text(errors="replace")[-3000:]

    def end(self) -> dict[str, int]:
        """End all as `docker compose down` does; return their exit codes."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        return {name: process.wait(40) for name, process in self.processes.items()}


@contextmanager
def running(deployment: Deployment) -> Iterator[None]:
    try:
        done = deployment.run("migrate", deployment.services["migrate"]["command"])
        assert done.returncode == 0, done.stderr
        for service in deployment.services:
            if service != "migrate":
                deployment.start(service)
        yield
    finally:
        for process in deployment.processes.values():
            process.kill()
            process.wait()


def browser(deployment: Deployment) -> httpx2.Client:
    """Return a client that comes through Caddy."""
    return httpx2.Client(
        base_url=f"http://127.0.0.1:{deployment.port}",
        headers={
            "Host": _DOMAIN,
            "Origin": f"https://{_DOMAIN}",
            "X-Forwarded-For": "198.51.100.7",
            "X-Forwarded-Proto": "https",
        },
        timeout=30,
        trust_env=False,
    )


# Eight processes start one after the other, beside whatever else runs.
@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_person_signs_in_and_is_answered(
    home: Path, empty_database_url: str, redis_server: ValkeyServer
) -> None:
    deployment = Deployment(home, empty_database_url, redis_server.url())
    with ModelServer() as model:
        (home / "config.yaml").write_text(
            CONFIG.format(base_url=model.base_url, more="", providers="", limits="timeout: 60s")
        )
        with running(deployment):
            _wait(deployment)
            _chat(deployment)
            _saves(deployment)
            codes = deployment.end()
    assert set(codes.values()) == {0}, codes


def _wait(deployment: Deployment) -> None:
    # A check is a program of its own: asked while all the others start, it would hold them up.
    until(deployment.workers_are_there, 90)
    for service, one in deployment.services.items():
        if "healthcheck" in one:
            until(partial(deployment.healthy, service), 90)


def _chat(deployment: Deployment) -> None:
    made = deployment.run("web", ["python", "-m", "web.cli", "login-link"])
    address, _, secret = made.stdout.strip().partition("#")
    assert address == f"https://{_DOMAIN}/login", made.stderr
    with browser(deployment) as client:
        answer = client.post("/api/login/link", json={"secret": secret})
        assert answer.status_code == 200, answer.text
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        assert cookie.startswith("__Host-habakkuk=")
        assert "Secure" in answer.headers["Set-Cookie"]
        headers = {"Cookie": cookie, "X-CSRF-Token": _csrf(client, cookie)}
        body = {"conversation": "c", "text": "hello"}
        sent = client.post("/api/chat", json=body, headers=headers)
        assert sent.status_code == 202, sent.text
        turn = client.get(f"/api/turns/{sent.json()['turn']}?wait=60", headers=headers).json()
        assert turn["reply"]["text"], deployment.said("worker-turns")


def _csrf(client: httpx2.Client, cookie: str) -> str:
    page = client.get("/", headers={"Cookie": cookie, "Accept": "text/html"})
    assert page.status_code == 200
    token: str = page.text.partition('name="csrf-token" content="')[2].partition('"')[0]
    return token


def _saves(deployment: Deployment) -> None:
    target = deployment.home.parent / "b.tar"
    made: Any = deployment.run("worker-turns", ["python", "-m", "web.cli", "backup", str(target)])
    assert made.returncode == 0, made.stderr
    assert target.stat().st_size > 10_000
