"""Row 18: a name that turns to this machine is no name of this server."""

from __future__ import annotations

import socket

import pytest

from habakkuk.core.config.settings import Settings
from tests.security.door import Browser, Served
from web.application import application

_STRANGE = [
    "evil.example",
    "evil.example:8484",
    "127.0.0.1.nip.io",
    "localhost.evil.example",
    "localhost.localdomain",
    "foo.localhost",
    "localhost.",
    "127.0.0.1.",
    "127.1",
    "127.0.0.2",
    "127.0.0.01",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0.0.0.0",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:0:0:1]",
    "[::1%25lo]",
    "[::1",
    "::1",
    "169.254.169.254",
    "localhost,evil.example",
    "evil.example,localhost",
    "localhost evil.example",
    "localhost/evil.example",
    "localhost#evil.example",
    "localhost?evil.example",
    "evil.example@localhost",
    "localhost@evil.example",
    "localhost:80:80",
    "localhost:",
    "localhost:x",
    "localhost:-1",
    "localhost:999999",
    "localhost\\evil.example",
    "localhost%00.evil.example",
    "http://localhost",
    "*",
    "*.localhost",
    "localh\u00f6st",
    "ⓛocalhost",
    "xn--localhost-",
    "habakkuk",
    "null",
    "_",
    "-",
    ".",
    ":8484",
    "a" * 5000,
]
_PATHS = ["/login", "/", "/api/chat", "/v1/models", "/healthz", "/openapi.json", "/static/mark.svg"]
_PATHS += ["/channels/phone", "/nothing", "/api/chat/c/events"]


@pytest.mark.parametrize("host", _STRANGE[:4])
def test_the_door_answers_for_no_other_host(browser: Browser, host: str) -> None:
    parts = browser.served.stack.container
    link = parts.logins.make_link(parts.accounts.owner())
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert browser.client.get("/login", headers=headers).status_code == 421
    answer = browser.client.post("/api/login/link", json={"secret": link}, headers=headers)
    assert answer.status_code == 421
    browser.sign_in()
    (cookie,) = (f"{one.name}={one.value}" for one in browser.client.cookies.jar)
    answer = browser.client.get("/api/chat", headers={**headers, "Cookie": cookie})
    assert answer.status_code == 421


def test_no_address_is_answered_under_another_host(served: Served) -> None:
    """With the owner's token: a page that renames itself may have found one."""
    through = []
    for host in _STRANGE:
        for path in _PATHS if len(host) < 20 else _PATHS[:2]:
            headers = {b"Host": host.encode()}
            status = served.client.get(path, headers=headers).status_code
            if status != 421:
                through.append((host, path, status))
    assert through == []


def test_every_route_is_behind_the_check(served: Served) -> None:
    app = application(served.stack.container)
    tried = 0
    for rule in app.url_map.iter_rules():
        path = rule.rule
        for name in rule.arguments:
            for kind in ("", "path:", "int:"):
                path = path.replace(f"<{kind}{name}>", "1")
        for method in (rule.methods or set()) - {"OPTIONS", "HEAD"}:
            answer = served.client.request(method, path, headers={"Host": "evil.example"})
            assert answer.status_code == 421, (method, path)
            tried += 1
    assert tried > 40


def _raw(served: Served, text: str) -> bytes:
    place = ("127.0.0.1", int(served.base_url.rpartition(":")[2]))
    with socket.create_connection(place, timeout=30) as line:
        line.sendall(text.encode())
        line.shutdown(socket.SHUT_WR)
        got = b""
        while piece := line.recv(65536):
            got += piece
    return got


def test_two_names_in_one_request_are_no_way_in(served: Served) -> None:
    own, bearer = f"127.0.0.1:{served.base_url.rpartition(':')[2]}", f"Bearer {served.token}"
    served.send("a secret")
    rest = f"Authorization: {bearer}\r\nConnection: close\r\n\r\n"
    tries = {
        "two hosts": f"GET /api/chat/c HTTP/1.1\r\nHost: evil.example\r\nHost: {own}\r\n{rest}",
        "turned": f"GET /api/chat/c HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n{rest}",
        "none": f"GET /api/chat/c HTTP/1.1\r\n{rest}",
        "none, old": f"GET /api/chat/c HTTP/1.0\r\n{rest}",
        "empty": f"GET /api/chat/c HTTP/1.1\r\nHost:\r\n{rest}",
        "folded": f"GET /api/chat/c HTTP/1.1\r\nHost: evil.example\r\n {own}\r\n{rest}",
    }
    for name, text in tries.items():
        assert b"a secret" not in _raw(served, text), name


def test_what_a_proxy_would_say_is_not_believed(served: Served) -> None:
    """Without a configured proxy nobody else names the host."""
    for name in (
        "X-Forwarded-Host",
        "Forwarded",
        "X-Original-Host",
        "X-Host",
        "X-Forwarded-Server",
    ):
        value = "host=127.0.0.1" if name == "Forwarded" else "127.0.0.1"
        headers = {"Host": "evil.example", name: value}
        assert served.client.get("/api/chat", headers=headers).status_code == 421, name
        headers = {name: "host=evil.example" if name == "Forwarded" else "evil.example"}
        answer = served.client.get("/", headers={**headers, "Accept": "text/html"})
        assert "evil.example" not in answer.text + str(answer.headers), name


def test_the_machine_alone_opens_nothing(served: Served) -> None:
    """A request from this machine to this machine, under its name, without a token."""
    client = served.new_client(None)
    settings: Settings = served.stack.container.settings
    for host in ("localhost", "127.0.0.1", "[::1]", f"localhost:{settings.listen[1]}"):
        for path in ("/api/chat", "/v1/models", "/api/jobs", "/openapi.json"):
            assert client.get(path, headers={"Host": host}).status_code == 401, (host, path)
