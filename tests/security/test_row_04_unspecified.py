"""Row 4: a name that answers 0.0.0.0 or ::, which both mean this machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from habakkuk.agent.turn import TurnHandler
from habakkuk.core.addresses import is_of_this_machine
from habakkuk.core.http import HttpRefused, Limits
from habakkuk.core.interrupt import Interrupt
from tests.fakes.model_server import ModelServer
from tests.fakes.pages import PUBLIC, FakeNetwork
from tests.fakes.stack import Stack


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "::0.0.0.0", "0.1.2.3"])
def test_a_trusted_looking_name_is_checked_alike(address: str, network: FakeNetwork) -> None:
    network.names["api.openai.com"] = [[address]]
    with pytest.raises(HttpRefused):
        network.web().get("http://api.openai.com/", Limits(), Interrupt())
    assert network.connected == []


def test_the_public_address_of_this_server_is_refused(network: FakeNetwork) -> None:
    network.names["me.example"] = [[PUBLIC]]
    with pytest.raises(HttpRefused, match="this server"):
        network.web(own_addresses=[PUBLIC]).get("http://me.example/", Limits(), Interrupt())
    assert network.connected == []


@pytest.mark.parametrize(
    "host", ["chat.example", "CHAT.example", "chat.example.", "chat.example:81"]
)
def test_the_public_name_of_this_server_is_refused(host: str, network: FakeNetwork) -> None:
    """Its address may be a proxy's, which no interface here has."""
    network.names["chat.example"] = [[PUBLIC]]
    with pytest.raises(HttpRefused, match="this server"):
        network.web(["Chat.example"]).get(f"http://{host}/", Limits(), Interrupt())
    assert (network.asked, network.connected) == ([], [])


@pytest.mark.parametrize(("address", "own"), [("127.0.0.1", True), (PUBLIC, False)])
def test_an_address_of_an_interface_is_known_as_ones_own(address: str, own: bool) -> None:
    assert is_of_this_machine(address) is own


def test_where_any_address_can_be_bound_none_is_taken_for_ones_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """net.ipv4.ip_nonlocal_bind, as load balancers set it: else every page would be refused."""
    monkeypatch.setattr(socket.socket, "bind", lambda *_: None)
    assert not is_of_this_machine(PUBLIC)


def test_the_server_knows_its_public_name(home: Path, database_url: str, redis_url: str) -> None:
    with ModelServer() as model:
        more = "public_url: https://chat.example"
        stack = Stack(home, database_url, redis_url, model, more)
        handler = stack.container.handlers["turn"]
        assert isinstance(handler, TurnHandler)
        with pytest.raises(HttpRefused, match="this server"):
            handler._ports.tool_services.web.get("https://chat.example/", Limits(), Interrupt())
        stack.close()
