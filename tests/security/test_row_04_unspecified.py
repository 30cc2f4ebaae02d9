"""Row 4: a name that answers 0.0.0.0 or ::, which both mean this machine."""

from __future__ import annotations

import pytest

from habakkuk.core.http import HttpRefused, Limits
from habakkuk.core.interrupt import Interrupt
from tests.fakes.pages import FakeNetwork


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "::0.0.0.0", "0.1.2.3"])
def test_a_trusted_looking_name_is_checked_alike(address: str, network: FakeNetwork) -> None:
    network.names["api.openai.com"] = [[address]]
    with pytest.raises(HttpRefused):
        network.web().get("http://api.openai.com/", Limits(), Interrupt())
    assert network.connected == []


@pytest.mark.parametrize(
    ("own", "answer"),
    [
        ("93.184.216.34", "93.184.216.34"),
        ("2606:2800:0::1", "2606:2800::1"),
        ("2606:2800::1", "2606:2800:0:0:0:0:0:1"),
    ],
)
def test_the_public_address_of_this_server_is_refused(
    own: str, answer: str, network: FakeNetwork
) -> None:
    network.names["me.example"] = [[answer]]
    with pytest.raises(HttpRefused, match="this server"):
        network.web([own]).get("http://me.example/", Limits(), Interrupt())
    assert network.connected == []


def test_an_unreadable_own_address_is_an_error_at_once(network: FakeNetwork) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        network.web(["nonsense"])
