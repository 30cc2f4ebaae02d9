"""Lines to providers: cut while they connect, and inside TLS."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from habakkuk.core.addresses import AddressInfo
from habakkuk.core.errors import Forbidden
from habakkuk.core.lines import Call, Calls, LineBackend, LineTransport, Plug
from habakkuk.core.trust import trusted
from habakkuk.llm.transport import line_client, line_transport
from tests.fakes.model_server import ModelServer

# Self-signed for 127.0.0.1, made for these tests; it secures nothing.
CERTIFICATE = Path(__file__).parents[2] / "fakes" / "tls" / "loopback.pem"
ECHO = {"messages": [{"role": "user", "content": "hello"}]}
BODY = {"messages": [{"role": "user", "content": "[[stall]] hello"}], "stream": True}


@contextmanager
def tls(server: ModelServer) -> Iterator[str]:
    """Put TLS in front of a server; yields its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server.wrap(context)
    yield server.base_url.replace("http://", "https://")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[httpx2.Client, Calls]]:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    trusted.cache_clear()
    calls = Calls()
    with line_client(line_transport(calls), stall_timeout=300.0) as client:
        yield client, calls
    trusted.cache_clear()


def cut_when(call: Call, ready: Callable[[], object]) -> threading.Thread:
    """Cut the call from another thread as soon as `ready` returns."""

    def act() -> None:
        ready()
        call.cut()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_a_call_is_cut_while_it_connects(client: tuple[httpx2.Client, Calls]) -> None:
    http, calls = client
    call = Call(300.0)
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = full.getsockname()
        # The kernel answers no further connection once the queue is full.
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        thread = cut_when(call, lambda: _connecting(address[1], 4))
        with calls.working(call), pytest.raises(httpx2.TransportError) as caught:
            http.get(f"http://127.0.0.1:{address[1]}/")
        thread.join()
    assert not isinstance(caught.value, httpx2.TimeoutException)


def _connecting(port: int, others: int) -> None:
    """Return when one more connection to `port` than `others` is being made or stands."""
    wanted = f":{port:04X} "
    while True:
        lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        # Remote address, then state: 01 stands, 02 is being made.
        clients = [
            line
            for line in lines
            if wanted in line.split(maxsplit=2)[2][:14] and line.split()[3] in ("01", "02")
        ]
        if len(clients) > others:
            return
        time.sleep(0.005)


def test_a_call_that_was_cut_before_it_connects_fails_at_once(
    client: tuple[httpx2.Client, Calls],
) -> None:
    http, calls = client
    call = Call(300.0)
    call.cut()
    with ModelServer() as server, calls.working(call), pytest.raises(httpx2.TransportError):
        http.post(f"{server.base_url}/chat/completions", json=BODY)
    assert server.requests == []


def test_an_answer_inside_tls(client: tuple[httpx2.Client, Calls]) -> None:
    http, calls = client
    with ModelServer() as server, tls(server) as url, calls.working(Call(300.0)):
        assert http.get(f"{url}/models").status_code == 200
        assert http.get(f"{url}/models").status_code == 200
    assert server.connections == 1


def test_a_call_inside_tls_is_cut(client: tuple[httpx2.Client, Calls]) -> None:
    http, calls = client
    call = Call(300.0)
    with ModelServer() as server, tls(server) as url:
        thread = cut_when(call, lambda: server.wait_for(lambda: len(server.requests) == 1))
        with calls.working(call), pytest.raises(httpx2.HTTPError):
            http.post(f"{url}/chat/completions", json=BODY)
        thread.join()
        server.wait_for(lambda: len(server.disconnects) == 1)


def test_an_unknown_certificate_is_refused() -> None:
    calls = Calls()
    with (
        ModelServer() as server,
        tls(server) as url,
        line_client(line_transport(calls), 5.0) as http,
    ):
        with pytest.raises(httpx2.ConnectError, match="certificate"):
            http.get(f"{url}/models")


def test_a_plug_may_be_pulled_after_its_line_closed() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        plug = Plug(ours)
        plug.close()
        plug.pull()
        ours.send(b"still open")
        assert theirs.recv(64) == b"still open"


def test_a_call_that_is_over_cuts_nothing() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        plug, call = Plug(ours), Call(300.0)
        call.use(plug)
        call.release()
        call.cut()
        ours.send(b"still open")
        plug.close()
        assert theirs.recv(64) == b"still open"


def test_a_host_that_cannot_be_a_name_is_a_connection_failure(
    client: tuple[httpx2.Client, Calls],
) -> None:
    http, _ = client
    with pytest.raises(httpx2.ConnectError):
        http.get("http://a..b/")


# Who says where a name leads, and who connects.


def addresses(*found: str, port: int) -> list[AddressInfo]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port)) for address in found]


def test_only_the_resolvers_addresses_are_connected_to_and_the_host_is_named() -> None:
    asked: list[tuple[str, int]] = []
    with ModelServer() as server:
        port = int(server.base_url.split(":")[2].removesuffix("/v1"))

        def resolve(host: str, wanted: int) -> list[AddressInfo]:
            asked.append((host, wanted))
            return addresses("127.0.0.1", port=port)

        transport = LineTransport(LineBackend(Calls(), resolve))
        with httpx2.Client(transport=transport, trust_env=False) as http:
            answer = http.post("http://model.example:81/v1/chat/completions", json=ECHO)
    assert asked == [("model.example", 81)]
    assert answer.status_code == 200
    assert server.requests[0].headers["host"] == "model.example:81"


def test_a_refusal_of_the_resolver_comes_out_as_it_is() -> None:
    def resolve(host: str, port: int) -> list[AddressInfo]:
        raise Forbidden(f"{host}:{port} is not public")

    transport = LineTransport(LineBackend(Calls(), resolve))
    with httpx2.Client(transport=transport, trust_env=False) as http:
        with pytest.raises(Forbidden, match=r"inside\.example:80 is not public"):
            http.get("http://inside.example/")


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    tried: list[str] = []
    with ModelServer() as server:
        port = int(server.base_url.split(":")[2].removesuffix("/v1"))

        def connect(sock: socket.socket, address: tuple[str, int]) -> None:
            tried.append(address[0])
            if address[0] == "192.0.2.1":
                raise ConnectionRefusedError("nobody there")
            sock.connect(("127.0.0.1", port))

        def resolve(_: str, wanted: int) -> list[AddressInfo]:
            return addresses("192.0.2.1", "192.0.2.2", port=wanted)

        transport = LineTransport(LineBackend(Calls(), resolve, connect))
        with httpx2.Client(transport=transport, trust_env=False) as http:
            assert http.get("http://model.example/v1/models").status_code == 200
    assert tried == ["192.0.2.1", "192.0.2.2"]


def test_a_name_without_addresses_is_a_connection_failure() -> None:
    transport = LineTransport(LineBackend(Calls(), lambda _host, _port: []))
    with httpx2.Client(transport=transport, trust_env=False) as http:
        with pytest.raises(httpx2.ConnectError, match=r"nowhere\.example has no address"):
            http.get("http://nowhere.example/")
