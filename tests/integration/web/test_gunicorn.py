"""The web process as `up` runs it: gunicorn with gevent."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from habakkuk.ops.processes import ROOT, web
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack, until
from tests.integration.web.served import events

STREAMS = 25


@dataclass
class WebProcess:
    base_url: str
    token: str
    process: subprocess.Popen[bytes]
    log: Path

    def client(self) -> httpx2.Client:
        return httpx2.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=30,
            trust_env=False,
        )

    def healthy(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return httpx2.get(f"{self.base_url}/healthz", trust_env=False).status_code == 200
        except httpx2.TransportError:
            return False


@pytest.fixture
def running(
    stack: Stack, home: Path, database_url: str, redis_url: str, tmp_path: Path
) -> Iterator[WebProcess]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = tmp_path / "web.log"
    environment = os.environ | {
        "HABAKKUK_HOME": str(home),
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "HABAKKUK_LISTEN": f"127.0.0.1:{port}",
        "PYTHONPATH": str(ROOT),
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            web().command, cwd=tmp_path, env=environment, stdout=out, stderr=subprocess.STDOUT
        )
    made = WebProcess(
        f"http://127.0.0.1:{port}", stack.container.accounts.create_token("t"), process, log
    )
    try:
        until(made.healthy, 30)
        yield made
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def test_many_streams_are_served_by_one_process(
    running: WebProcess, stack: Stack, model: ModelServer
) -> None:
    stack.start()
    with running.client() as client:
        client.post("/api/chat", json={"conversation": "c", "text": "first"})
        answers: list[str] = []

        def follow() -> None:
            with running.client() as own, own.stream("GET", "/api/chat/c/events") as stream:
                for event in events(stream):
                    if event.id == "4":
                        answers.append(event.json["text"])
                        return

        threads = [threading.Thread(target=follow) for _ in range(STREAMS)]
        for thread in threads:
            thread.start()
        client.post("/api/chat", json={"conversation": "c", "text": "hello [[tokens 5]]"})
        for thread in threads:
            thread.join(30)
        assert len(answers) == STREAMS
        assert len(set(answers)) == 1
        assert answers[0].startswith("echo: hello")
    assert "MonkeyPatchWarning" not in running.log.read_text()


def test_waiting_for_the_database_holds_nobody_else_up(running: WebProcess, stack: Stack) -> None:
    """Turns that nobody answers are waited for; the process answers others meanwhile."""
    with running.client() as client:
        sent = client.post("/api/chat", json={"conversation": "c", "text": "hello"}).json()
        done: list[int] = []

        def wait() -> None:
            with running.client() as own:
                done.append(own.get(f"/api/turns/{sent['turn']}?wait=25").status_code)

        threads = [threading.Thread(target=wait) for _ in range(STREAMS)]
        for thread in threads:
            thread.start()
        assert client.get("/healthz").json() == {"status": "ok", "degraded": []}
        assert client.get("/api/chat").status_code == 200
        assert done == []
        stack.start()
        for thread in threads:
            thread.join(30)
    assert done == [200] * STREAMS


def test_the_log_holds_one_line_a_request_and_no_secrets(running: WebProcess) -> None:
    with running.client() as client:
        client.get("/api/chat?limit=7")
        client.get("/api/chat?token=hab_in_the_address_where_it_should_not_be")
    until(lambda: running.log.read_text().count('"route": "/api/chat"') == 2)
    log = running.log.read_text()
    assert running.token not in log
    assert "hab_in_the_address" not in log
    assert "limit=7" not in log
