"""Addresses that must never be called, in every spelling that has got past a guard somewhere."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

# What attackers want to reach.
WANTED = ("127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0")

# security-cases.md's deny list, written down again: the product's own copy is what is tested.
_V4 = (
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
    "168.63.129.16/32",
    "100.100.100.200/32",
)
_V6 = (
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
)


def plain() -> list[str]:
    """Return the first, a middle and the last address of every denied network."""
    networks: list[IPv4Network | IPv6Network] = [IPv4Network(net) for net in _V4]
    networks += [IPv6Network(net) for net in _V6]
    return sorted({str(net[at]) for net in networks for at in (0, net.num_addresses // 2, -1)})


def embedded() -> list[str]:
    """Return IPv6 addresses that carry a wanted IPv4 one."""
    found: list[str] = []
    for text in WANTED:
        inner = int(IPv4Address(text))
        high, low = inner >> 16, inner & 0xFFFF
        flipped = inner ^ 0xFFFF_FFFF
        found += [
            f"::ffff:{text}",
            f"::{text}",
            f"::ffff:0:{text}",
            f"64:ff9b::{text}",
            f"64:ff9b:1::{text}",
            f"2002:{high:x}:{low:x}::",
            f"2002:{high:x}:{low:x}::1",
            f"2001:0:5db8:d822:0:0:{flipped >> 16:x}:{flipped & 0xFFFF:x}",
            f"2001:0:{high:x}:{low:x}::1",
            f"fe80::5efe:{high:x}:{low:x}",
            f"2606:2800::5efe:{high:x}:{low:x}",
            f"2606:2800:0:0:200:5efe:{high:x}:{low:x}",
        ]
    # Only what IPv6 has as an address; a test that skips silently would prove nothing.
    return [str(IPv6Address(address)) for address in found]


def odd_spellings() -> list[str]:
    """Return hosts that are IPv4 addresses in other clothes."""
    found: list[str] = []
    for text in WANTED[:5]:
        whole = int(IPv4Address(text))
        a, b, c, d = (int(part) for part in text.split("."))
        found += [
            f"{whole}",
            f"0x{whole:x}",
            f"0X{whole:X}",
            f"0{whole:o}",
            f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}",
            f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
            f"{a}.{b}.{(c << 8) + d}",
            f"{a}.{(b << 16) + (c << 8) + d}",
            f"0x{a:x}.{b}.0{c:o}.{d}",
            f"{a}。{b}。{c}。{d}",
            f"{a}.{b}.{c}.{d}.",
            "".join(_fullwidth(char) for char in text),
            "".join(_circled(char) for char in text),
        ]
    return [*found, "127.1", "127.0.1", "0", "0x0", "00000000", "0x7f.1", "0177.1", "127.255.1"]


def _fullwidth(char: str) -> str:
    return chr(ord(char) + 0xFEE0)


def _circled(char: str) -> str:
    return {"0": "⓪", ".": "."}.get(char) or chr(0x2460 + int(char) - 1)


def literal(address: str) -> str:
    """Return an address as a URL writes it."""
    return f"[{address}]" if ":" in address else address


def hosts() -> list[str]:
    """Return all of them as hosts of a URL."""
    return [literal(address) for address in (*plain(), *embedded())] + odd_spellings()


LOCAL_NAMES = (
    "localhost",
    "LOCALHOST",
    "localhost.",
    "LocalHost.",
    "foo.localhost",
    "a.b.localhost.",
    "localhost.localdomain",
    "printer.local",
    "Printer.LOCAL.",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "metadata",
    "instance-data",
    "kubernetes.default.svc.cluster.local",
    "host.docker.internal",
    "gateway.docker.internal",
    "db.internal",
    "router.home.arpa",
)

# Whole addresses that readers understand differently, or that are no web addresses.
MALFORMED = (
    "http://good.example\\@127.0.0.1/",
    "http://127.0.0.1\\@good.example/",
    "http://good.example@127.0.0.1/",
    "http://a:b@127.0.0.1/",
    "http://127.0.0.1@good.example/",
    "http://@good.example/",
    "http://good.example%00.evil/",
    "http://good.example%0a/",
    "http://good.example%0D%0A/",
    "http://127.0.0.1%2f@good.example/",
    "http://good.example\t/",
    "http://good\t.example/",
    " http://good.example/",
    "http://good.example/ ",
    "http://good.example/\r\nX-Evil: 1",
    "http://good.example/\x00",
    "http://good.example/\x7f",
    "http://good.example/\u2028",
    "http://good.example/\x85",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1%25lo]/",
    "http://good%2eexample/",
    "http://good.example:0/",
    "http://good.example:99999/",
    "http://good.example:-1/",
    "http://good.example:80:80/",
    "http:///etc/passwd",
    "http:good.example",
    "http:/good.example/",
    "//good.example/",
    "good.example",
    "/etc/passwd",
    "",
    "file:///etc/passwd",
    "file://good.example/etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "dict://127.0.0.1:6379/info",
    "ftp://good.example/",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "ws://good.example/",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "jar:http://good.example!/",
    "view-source:http://good.example/",
    "http://[::1",
    "http://::1/",
    "http://[127.0.0.1]/",
    "http://[v1.a]/",
    "http://good.example/" + "a" * 10_000,
    "http://" + "a" * 300 + ".example/",
    "http://a..b.example/\ud800",
)

ORDINARY = (
    "http://example.com",
    "http://example.com/",
    "https://example.com/",
    "http://example.com:8080/",
    "http://example.com:80/a/b?c=d#e",
    "http://www.example.com/path/with/@at",
    "http://example.com/a%20b",
    "http://example.com/?q=a+b&r=%C3%A9",
    "http://example.com/?next=http://127.0.0.1/",
    "http://example.com/?u=user@example.org",
    "http://example.com?u=user@example.org",
    "http://example.com#user@example.org",
    "http://example.com/~user/",
    "http://example.com/a;b=c",
    "http://example.com/(brackets)",
    "http://example.com/%E4%BD%A0%E5%A5%BD",
    "http://example.com/你好",
    "http://example.com/?q=你好",
    "http://bücher.example/",
    "http://xn--bcher-kva.example/",
    "http://例え.example/",
    "http://пример.example/",
    "http://a.b.c.d.e.example.com/",
    "http://a-b.example.com/",
    "http://a_b.example.com/",
    "http://1.example.com/",
    "http://127.0.0.1.example.com/",
    "http://localhost.example.com/",
    "http://mylocalhost.example/",
    "http://internal.example.com/",
    "http://local.example.com/",
    "http://metadata.example.com/",
    "http://example.local.example.com/",
    "http://EXAMPLE.COM/UPPER",
    "HTTP://example.com/",
    "http://example.com./",
    "http://93.184.216.34/",
    "http://93.184.216.34:8080/x",
    "http://8.8.8.8/",
    "http://1.1.1.1/",
    "http://9.9.9.9/",
    "http://100.63.255.255/",
    "http://100.128.0.1/",
    "http://172.15.255.255/",
    "http://172.32.0.1/",
    "http://192.167.255.255/",
    "http://192.169.0.1/",
    "http://198.17.255.255/",
    "http://198.20.0.1/",
    "http://11.0.0.1/",
    "http://126.255.255.255/",
    "http://128.0.0.1/",
    "http://169.253.255.255/",
    "http://223.255.255.255/",
    "http://[2606:2800:220:1:248:1893:25c8:1946]/",
    "http://[2a00:1450:4001:81b::200e]:8080/",
    "http://[2400:cb00:2048:1::6814:155]/",
    "https://example.com:8443/a",
    "https://api.example.com/v1/things?limit=10",
    "https://bücher.example/shop",
)
