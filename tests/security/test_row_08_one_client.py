"""Row 8: whatever hands an address on goes through the same client."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from habakkuk.channels.contract import Account, NotSent
from habakkuk.channels.messages import OutboundMessage
from habakkuk.channels.webhook.adapter import WebhookAdapter
from habakkuk.channels.webhook.manifest import WebhookSettings
from habakkuk.core.http import HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, redirect, response
from tests.security.door import Served
from tests.security.posted import SECRET
from tests.security.targets import LOCAL_NAMES, MALFORMED, hosts

_ROOT = Path(__file__).parents[2]
_CLIENTS = {
    "aiohttp",
    "ftplib",
    "http.client",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "imaplib",
    "nntplib",
    "poplib",
    "pycurl",
    "requests",
    "smtplib",
    "telnetlib",
    "urllib.request",
    "primp",
    "urllib3",
    "webbrowser",
    "websocket",
    "websockets",
    "xmlrpc.client",
}
# The client itself, and what it trusts; providers, whose addresses are the operator's own
# (blueprint §13); and the command line and `up`, which ask servers that they started.
_ALLOWED = (
    "habakkuk/core/fetch.py",
    "habakkuk/core/lines.py",
    "habakkuk/core/trust.py",
    "habakkuk/llm/",
)
# Lines to platforms, whose addresses are settings of the operator and never words of a message;
# what reads dates in their answers; and the shape in which Slack's SDK hands a request to our
# client.
_LINES = (
    "habakkuk/channels/discord/gateway.py",
    "habakkuk/channels/email/fetched.py",
    "habakkuk/channels/email/imap.py",
    "habakkuk/channels/email/smtp.py",
    "habakkuk/channels/slack/client.py",
)
_OF_THIS_MACHINE = ("habakkuk/ops/", "web/cli/")
_PROGRAMS = re.compile(r"""["'](?:/usr/bin/)?(?:curl|wget|nc|ncat|telnet|ftp|aria2c|lynx)["']""")
_BY_NAME = re.compile(r"""(?:import_module|__import__)\(\s*["'](\w[\w.]*)["']""")
# Where a second hop points to, in all its clothes.
_SECOND = [f"http://{host}/latest/meta-data/" for host in hosts()]
_SECOND += [f"http://{name}/" for name in LOCAL_NAMES]
_SECOND += [address for address in MALFORMED if address and len(address) < 2000]
_MESSAGE = OutboundMessage("k1", "room", "", "hello", "reply")


def _modules() -> Iterator[tuple[str, str]]:
    for folder in ("habakkuk", "web", "workers"):
        for path in sorted((_ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(_ROOT))
            if not name.startswith((*_ALLOWED, *_LINES, *_OF_THIS_MACHINE)):
                yield name, path.read_text()


def _imports(source: str) -> set[str]:
    found: set[str] = set(_BY_NAME.findall(source))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_only_the_guarded_client_speaks_to_the_outside() -> None:
    loose = [
        f"{name}: {', '.join(sorted(used))}"
        for name, source in _modules()
        if (used := _imports(source) & _CLIENTS)
    ]
    assert loose == []


def test_no_program_that_fetches_is_started() -> None:
    loose = [name for name, source in _modules() if _PROGRAMS.search(source)]
    # What commands of the model may do is decided by their tool; these start none.
    assert [name for name in loose if not name.startswith("habakkuk/tools/")] == []


@pytest.fixture
def web(network: FakeNetwork) -> OutsideHttp:
    network.names["start.example"] = [[PUBLIC]]
    return network.web()


def test_no_second_hop_leads_inside(
    web: OutsideHttp, network: FakeNetwork, pages: PageServer
) -> None:
    """A page's redirect, by the client of every tool, to each address that is not to be called."""
    through = []
    for number, target in enumerate(_SECOND):
        pages.answers[f"/{number}"] = redirect(target)
        before = len(network.connected)
        try:
            found = web.get(f"http://start.example/{number}", Limits(), Interrupt())
        except (HttpRefused, HttpFailed):
            found = None
        # A target without a host is an address on the page's own server: that may be asked.
        elsewhere = [one for one in network.connected[before:] if one != PUBLIC]
        if elsewhere or (found is not None and "start.example" not in found.url):
            through.append(target)
    assert through == []


def test_an_interface_is_not_followed_elsewhere(
    web: OutsideHttp, network: FakeNetwork, pages: PageServer
) -> None:
    """A request with a key in it ends where it went, whatever is answered."""
    for status in ("301 Moved", "302 Found", "303 See", "307 Same", "308 Ever"):
        for target in ("http://127.0.0.1/", "http://other.example/", "//evil.example/", "/again"):
            pages.answers["/"] = redirect(target, status)
            request = Request("POST", "http://start.example/", b"{}", {"authorization": "k"})
            before = len(pages.seen)
            answer = web.call(request, Limits(), Interrupt())
            assert answer.status == int(status[:3])
            assert len(pages.seen) == before + 1
    assert set(network.connected) == {PUBLIC}


def test_an_answer_of_a_channel_is_sent_nowhere_else(
    network: FakeNetwork, pages: PageServer
) -> None:
    network.names["phone.example"] = [[PUBLIC]]
    settings = WebhookSettings(secret_env="SECRET", url="http://phone.example/")
    adapter = WebhookAdapter(Account("phone", {"SECRET": SECRET}), settings, network.web())
    targets = ["http://169.254.169.254/", "http://127.0.0.1:6379/", "http://evil.example/", "/x"]
    for status in ("301 Moved", "302 Found", "303 See", "307 Same", "308 Ever"):
        for target in [*targets, "file:///etc/passwd", "gopher://127.0.0.1/"]:
            pages.answers["/"] = redirect(target, status)
            with pytest.raises(NotSent):
                adapter.send(_MESSAGE)
    assert set(network.connected) == {PUBLIC}
    assert {seen.line.split(" ")[1] for seen in pages.seen} == {"/"}


def test_what_a_page_names_is_not_fetched_by_itself(
    web: OutsideHttp, network: FakeNetwork, pages: PageServer
) -> None:
    inside = "http://169.254.169.254/"
    bodies = [
        f'<meta http-equiv="refresh" content="0;url={inside}">',
        f'<link rel="canonical" href="{inside}"><base href="{inside}">',
        f'<iframe src="{inside}"></iframe><img src="{inside}"><script src="{inside}"></script>',
        f'<?xml version="1.0"?><!DOCTYPE x SYSTEM "{inside}"><x/>',
        f'<?xml-stylesheet href="{inside}"?><x xmlns:xi="x"><xi:include href="{inside}"/></x>',
        f'{{"webSocketDebuggerUrl": "{inside}", "url": "{inside}", "next": "{inside}"}}',
    ]
    more = f"refresh: 0;url={inside}\r\nlink: <{inside}>; rel=preload\r\n"
    more += f'content-location: {inside}\r\nalt-svc: h2="169.254.169.254:80"\r\n'
    for number, body in enumerate(bodies):
        pages.answers[f"/{number}"] = response(body.encode(), "text/html", more=more.encode())
        web.get(f"http://start.example/{number}", Limits(), Interrupt())
    assert network.connected == [PUBLIC] * len(bodies)


def _parts(url: str) -> list[dict[str, Any]]:
    return [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "image_url", "image_url": url},
        {"type": "file", "file": {"file_data": url}},
        {"type": "file", "file": {"file_id": url}},
        {"type": "input_image", "image_url": url},
        {"type": "input_audio", "input_audio": {"data": url, "format": "wav"}},
    ]


def test_no_address_in_a_request_is_fetched(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a client of a protocol sends along comes with it, or is refused."""
    asked: list[Any] = []
    refuse: Callable[..., None] = lambda *given, **_: asked.append(given)  # noqa: E731 - notes it
    monkeypatch.setattr(OutsideHttp, "get", refuse)
    monkeypatch.setattr(OutsideHttp, "call", refuse)
    urls = ["http://169.254.169.254/", "HTTPS://127.0.0.1/x.png", "file:///etc/passwd", "ftp://x/"]
    urls += ["//127.0.0.1/", "gopher://127.0.0.1/", " http://127.0.0.1/", "http:127.0.0.1", "/etc"]
    urls += ["http://good.example/x.png", "data:,http://127.0.0.1/", "data:text/uri-list,x"]
    for url in urls:
        for part in _parts(url):
            body: dict[str, Any] = {"messages": [{"role": "user", "content": [part]}]}
            answer = served.client.post("/v1/chat/completions", json=body)
            assert answer.status_code == 400, part
        files = [{"data": url}]
        body = {"conversation": "c", "text": "x", "files": files}
        assert served.client.post("/api/chat", json=body).status_code == 400, url
    assert asked == []
