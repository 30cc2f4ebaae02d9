"""Which outside addresses may be called. Everything that is not plainly public is refused.

`ipaddress.is_global` is no guard: it lets NAT64, compatible and site-local addresses through,
differently in each release of Python. So the networks are listed, and what carries an IPv4
address inside an IPv6 one is unwrapped and looked at again.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

Address = IPv4Address | IPv6Address
# One row as socket.getaddrinfo returns it: family, kind, protocol, canonical name, address.
AddressInfo = tuple[int, int, int, str, Any]
Resolve = Callable[[str, int], Sequence[AddressInfo]]
Connect = Callable[[socket.socket, Any], None]

_DENIED_V4 = tuple(
    IPv4Network(net)
    for net in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "168.63.129.16/32",  # Azure's wire server
        "100.100.100.200/32",  # Alibaba's metadata
    )
)
_DENIED_V6 = tuple(
    IPv6Network(net)
    for net in (
        "::/96",  # unspecified, loopback and IPv4-compatible
        "::ffff:0:0/96",
        "::ffff:0:0:0/96",  # IPv4-translated (RFC 2765)
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",  # Teredo and other protocol assignments
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
        "fd00:ec2::254/128",  # AWS metadata
    )
)
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
_DENIED_NAMES = ("localhost", "metadata", "metadata.google.internal", "instance-data")
# For documentation only (RFC 5737), so no machine has it.
_NOBODYS = "192.0.2.1"
_DENIED_ZONES = (".localhost", ".local", ".internal", ".localdomain", ".home.arpa")


def resolve_name(host: str, port: int) -> Sequence[AddressInfo]:
    """Return a host's addresses as the system's resolver gives them. Raises OSError."""
    try:
        return socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
    except UnicodeError as error:
        # Names with empty or overlong labels fail before the resolver is asked.
        raise OSError(f"{host} is no host name") from error


def is_of_this_machine(address: str) -> bool:
    """Whether a network interface here has the address: a socket can be bound to no other.

    False for all where the system lets sockets be bound to any, as some load balancers want.
    """
    return _can_bind(address) and not _can_bind(_NOBODYS)


def _can_bind(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.bind((address, 0))
    except OSError:
        return False
    return True


def refusal(address: str) -> str | None:
    """Return why an address may not be called, None when it may. Raises ValueError."""
    if "%" in address:
        return "an address of a local link"
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return _refused_v4(parsed)
    if any(parsed in net for net in _DENIED_V6):
        return "not a public address"
    inner = _embedded(parsed)
    return _refused_v4(inner) if inner is not None else None


def name_refusal(host: str) -> str | None:
    """Return why a name may not even be looked up, None when it may."""
    name = host.rstrip(".").casefold()
    if name in _DENIED_NAMES or name.endswith(_DENIED_ZONES):
        return "a name of this machine or its network"
    return None


def _refused_v4(address: IPv4Address) -> str | None:
    return "not a public address" if any(address in net for net in _DENIED_V4) else None


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address inside an ISATAP one: any prefix, told by its interface part."""
    low = int(address) & 0xFFFF_FFFF_FFFF_FFFF
    return IPv4Address(low & 0xFFFF_FFFF) if low >> 32 in _ISATAP else None
