"""Row 17: a page from elsewhere hears no stream, whoever is signed in; and no page is told where.

There are no WebSockets yet: whoever asks for one gets a plain answer or none.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tests.security.door import Browser, Served

_ROOT = Path(__file__).parents[2]
_ELSEWHERE = [
    {"Origin": "http://evil.example"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "http://[::1]:8484"},
    {"Origin": "https://127.0.0.1"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://127.0.0.1.evil.example"},
    {"Origin": "http://evil.example#127.0.0.1"},
    {"Origin": "http://127.0.0.1@evil.example"},
    {"Origin": "http://2130706433"},
    {"Origin": "http://0x7f000001"},
    {"Origin": "file://"},
    {"Origin": "chrome-extension://abcdefghijklmnop"},
    {"Origin": "moz-extension://0"},
    {"Origin": "data:text/html,x"},
    {"Origin": "javascript:1"},
    {"Origin": "about:blank"},
    {"Origin": "http://evil.example, http://127.0.0.1"},
    {"Origin": "x"},
    {"Origin": "http://"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "websocket"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "empty"},
    {"Sec-Fetch-Site": "Same-Origin"},
    {"Sec-Fetch-Site": "same-origin, cross-site"},
    {"Sec-Fetch-Site": "x"},
]
_STREAMS = ["/api/chat/c/events", "/api/chat/c/events?after=0", "/api/chat", "/api/conversations/c"]
_UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
_SOCKETS = ["/", "/ws", "/socket.io/?EIO=4&transport=websocket", "/api/chat/c/events", "/api/ws"]
_SOCKETS += ["/gateway", "/v1/realtime", "/healthz", "/login", "/static/mark.svg", "/channels/x"]
# What a page could be told in its address: where to connect, or with what.
_TOLD = ["gatewayUrl", "gateway", "url", "ws", "server", "host", "base", "api", "baseUrl", "next"]


def test_no_other_page_hears_a_stream(browser: Browser) -> None:
    browser.sign_in()
    browser.post("/api/chat", {"conversation": "c", "text": "a secret"})
    for headers in _ELSEWHERE:
        for path in _STREAMS:
            answer = browser.client.get(path, headers=headers)
            assert answer.status_code == 403, (headers, path)
            assert "a secret" not in answer.text
            assert not [name for name in answer.headers if name.startswith("access-control")]


def test_no_other_page_is_told_that_it_may_ask(browser: Browser) -> None:
    browser.sign_in()
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        for path in (*_STREAMS, "/v1/chat/completions", "/api/login/link"):
            headers = {
                "Origin": origin,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,x-csrf-token",
                "Access-Control-Request-Private-Network": "true",
            }
            answer = browser.client.options(path, headers=headers)
            assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("signed_in", [True, False])
def test_nothing_becomes_a_socket(browser: Browser, *, signed_in: bool) -> None:
    cookie = ""
    if signed_in:
        browser.sign_in()
        cookie = "; ".join(f"{one.name}={one.value}" for one in browser.client.cookies.jar)
    place = ("127.0.0.1", int(browser.served.base_url.rpartition(":")[2]))
    for path in _SOCKETS:
        for origin in ("http://evil.example", browser.served.base_url):
            headers = {**_UPGRADE, "Host": f"127.0.0.1:{place[1]}", "Origin": origin}
            headers |= {"Cookie": cookie} if cookie else {}
            lines = [f"GET {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
            with socket.create_connection(place, timeout=30) as line:
                line.sendall("\r\n".join(lines).encode())
                status = line.recv(4096).split(b"\r\n")[0]
            assert b" 101 " not in status, (path, origin)
            assert not status.startswith(b"HTTP/1.1 5"), (path, status)


def test_a_token_in_an_address_opens_no_stream(served: Served) -> None:
    client = served.new_client(None)
    for name in ("token", "access_token", "api_key", "key", "secret", "TOKEN", "apikey"):
        for path in ("/api/chat/c/events", "/api/chat", "/v1/models"):
            assert client.get(f"{path}?{name}={served.token}").status_code == 401, (name, path)
            # Nor beside a good one: whoever sends both has put one where others read it.
            both = served.client.get(f"{path}?{name}={served.token}")
            assert both.status_code == 401, (name, path)


def test_no_script_connects_to_where_its_address_says(browser: Browser) -> None:
    """The page's own parts: addresses in them begin here, and none is read from the address."""
    sources = [path for path in (_ROOT / "web/static").rglob("*.js") if "vendor" not in str(path)]
    assert len(sources) > 20
    for path in sources:
        text = path.read_text()
        assert not re.search(r"new (?:WebSocket|SharedWorker|Worker)\b|importScripts", text), path
        for line in re.findall(r"(?:fetch|EventSource|sendBeacon)\(([^)]*)", text):
            assert "location.search" not in line, (path, line)
            assert "location.hash" not in line, (path, line)
            assert "http" not in line, (path, line)
    browser.sign_in()
    for name in _TOLD:
        answer = browser.client.get("/", params={name: "http://evil.example/"})
        policy = answer.headers["content-security-policy"]
        assert "connect-src 'self'" in policy
        assert "evil.example" not in policy
        assert "evil.example" not in answer.text
