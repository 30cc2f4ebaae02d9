"""A model server that runs already, offered instead of the bundled model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.llm.selection import select
from habakkuk.ops import choice
from habakkuk.ops.choice import Wanted, offer_server
from habakkuk.ops.offers import Offer, accept, find_offer
from habakkuk.ops.port import free_port


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/v1/models"
            self.send_response(status if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def models(*names: str) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()


def settings_for(home: Path, config: str | None = None) -> Settings:
    if config is not None:
        (home / "config.yaml").write_text(config)
    return load_settings(read_environment({"HABAKKUK_HOME": str(home)}))


def test_a_server_with_a_model_is_offered() -> None:
    with answering(models("llama3.2:3b")) as port:
        assert find_offer({port: "ollama"}) == Offer("ollama", port, "llama3.2:3b")


@pytest.mark.parametrize(
    ("body", "status"),
    [(models(), 200), (b"<html>", 200), (b"{}", 200), (b'{"data": 1}', 200), (models("m"), 500)],
)
def test_what_is_no_model_server_is_not_offered(body: bytes, status: int) -> None:
    with answering(body, status) as port:
        assert find_offer({port: "ollama"}) is None


def test_a_port_that_nobody_listens_on_is_not_offered() -> None:
    assert find_offer({free_port(): "ollama"}) is None


def test_agreeing_writes_the_provider_and_keeps_the_rest(home: Path) -> None:
    settings = settings_for(home, "# mine\ntimezone: Europe/Berlin  # here\n")

    accept(Offer("ollama", 11434, "llama3.2:3b"), settings)

    text = (home / "config.yaml").read_text()
    assert text.startswith("# mine\ntimezone: Europe/Berlin  # here\n")
    chosen = select(settings_for(home)).agents["habakkuk"]
    assert [str(ref) for ref in chosen.chain] == ["ollama/llama3.2:3b"]


def test_without_anybody_to_ask_nothing_is_looked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "find_offer", lambda: pytest.fail("it looked"))
    settings = settings_for(home)

    assert offer_server(settings, Wanted(), None) == settings


def test_refusing_changes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "find_offer", lambda: Offer("ollama", 11434, "llama3.2"))
    settings = settings_for(home)

    assert offer_server(settings, Wanted(), lambda _question: False) == settings
    assert not (home / "config.yaml").exists()


def test_agreeing_gives_settings_with_the_server(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "find_offer", lambda: Offer("ollama", 11434, "llama3.2"))

    chosen = offer_server(settings_for(home), Wanted(), lambda _question: True)

    assert list(chosen.config.providers) == ["ollama"]
