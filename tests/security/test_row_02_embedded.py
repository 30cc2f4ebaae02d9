"""Row 2: IPv6 addresses that carry an IPv4 one."""

from __future__ import annotations

import pytest

from habakkuk.core.addresses import refusal
from tests.security import targets


def test_what_an_address_carries_is_looked_at() -> None:
    assert [address for address in targets.embedded() if refusal(address) is None] == []


def test_each_denied_network_is_denied_to_its_edges() -> None:
    assert [address for address in targets.plain() if refusal(address) is None] == []


@pytest.mark.parametrize(
    "address",
    [
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.88.98.255",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "168.63.129.15",
        "168.63.129.17",
        "2001:200::1",
        "2001:db7:ffff::1",
        "2003::1",
        "2606:2800::5efe",
        "2a00:1450:4001:81b::200e",
        "2606:2800:0:0:0:5efe:5db8:d822",
    ],
)
def test_public_neighbours_are_not(address: str) -> None:
    assert refusal(address) is None


def test_a_zone_is_local_by_nature() -> None:
    assert refusal("fe80::1%eth0") is not None
    assert refusal("2606:2800::1%eth0") is not None
