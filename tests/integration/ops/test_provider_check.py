"""The lists of models that providers tell, each in its own form."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from habakkuk.llm.contract import Endpoint
from habakkuk.llm.registry import provider_types
from habakkuk.ops.model_probe import told
from habakkuk.ops.provider_check import list_models
from web.cli.terminal.providers import FORMATS

OPENAI = b'{"data": [{"id": "b"}, {"id": "a"}]}'
# https://ai.google.dev/api/models#method:-models.list
GEMINI = b"""{"models": [
  {"name": "models/gemini-3.8-flash", "supportedGenerationMethods": ["generateContent"]},
  {"name": "models/gemini-embedding-2", "supportedGenerationMethods": ["embedContent"]},
  {"name": "models/gemini-4-argon"}
]}"""


class Listing(BaseHTTPRequestHandler):
    """Answers at the addresses that services document, to those who show the key there."""

    def do_GET(self) -> None:
        answers = {
            ("/v1/models", "authorization", "Bearer k"): OPENAI,
            ("/v1/models?limit=1000", "x-api-key", "k"): OPENAI,
            ("/v1beta/models?pageSize=1000", "x-goog-api-key", "k"): GEMINI,
        }
        found = (
            body
            for (path, header, value), body in answers.items()
            if self.path == path and self.headers.get(header) == value
        )
        body = next(found, b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Listing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("kind", "path", "names"),
    [
        ("openai", "/v1", ["a", "b"]),
        ("responses", "/v1", ["a", "b"]),
        ("anthropic", "", ["a", "b"]),
        ("gemini", "", ["gemini-3.8-flash", "gemini-4-argon"]),
        ("gemini", "/v1beta", ["gemini-3.8-flash", "gemini-4-argon"]),
    ],
)
def test_a_list_is_read_in_the_form_of_its_service(
    address: str, kind: str, path: str, names: list[str]
) -> None:
    assert list_models(Endpoint("p", address + path, "k", type=kind)) == names


def test_those_without_their_key_are_not_asked_and_those_that_fail_say_why(
    address: str,
) -> None:
    endpoints = {
        "good": Endpoint("good", f"{address}/v1", "k"),
        "wrong": Endpoint("wrong", f"{address}/v2", "k"),
        "bare": Endpoint("bare", f"{address}/v1", "", api_key_env="BARE_KEY"),
    }
    found = told(endpoints)
    assert found.keys() == {"good", "wrong"}
    assert found["good"] == ["a", "b"]
    assert str(found["wrong"]) == "it answered 404 Not Found"


def test_every_format_can_be_named_when_a_provider_is_added() -> None:
    assert set(FORMATS) == set(provider_types())
