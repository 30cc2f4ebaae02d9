"""Row 3: numbers that only the resolver reads as an address."""

from __future__ import annotations

import pytest

from habakkuk.core.http import HttpFailed, HttpRefused, Limits
from habakkuk.core.interrupt import Interrupt
from tests.fakes.pages import FakeNetwork


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f.1", "0177.1", "127.1", "0", "0x7f000001", "017700000001", "127.0.1"],
)
def test_the_resolved_address_decides(host: str, network: FakeNetwork) -> None:
    with pytest.raises(HttpRefused, match="not a public address"):
        network.web().get(f"http://{host}/", Limits(), Interrupt())
    assert network.connected == []


@pytest.mark.parametrize("host", ["１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "⒈⒉"])
def test_other_digits_and_dots_never_get_there(host: str, network: FakeNetwork) -> None:
    with pytest.raises((HttpRefused, HttpFailed)):
        network.web().get(f"http://{host}/", Limits(), Interrupt())
    assert network.connected == []
