"""Addresses of mail: one form for each, and none that could end a header."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ADDRESS = re.compile(
    r"([^\s@<>\"(),:;\[\]\\\x00-\x1f\x7f\ud800-\udfff]{1,64})@([^\s@<>\"(),:;\[\]\\]+)"
)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")
_LONGEST_DOMAIN = 253
_FULL = re.compile(r'(?P<name>"(?:[^"\\]|\\.)*" ?|[^<>"(),:;]*)<(?P<address>[^<>]+)>')
_BARE = re.compile(r"(?P<address>[^\s<>\"(),:;]+)(?: \((?P<name>[^()\\]*)\))?")
_ENCODED = re.compile(r"=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=")


def normalised(written: str) -> str | None:
    """Return an address in small letters, its domain in ASCII; None when it is none.

    Local parts that differ in case alone are other mailboxes by RFC 5321, section 2.4, and the
    same at every provider.
    """
    found = _ADDRESS.fullmatch(written.strip())
    domain = ascii_domain(found[2]) if found else None
    return f"{found[1].lower()}@{domain}" if found and domain else None


def canonical(written: str) -> str:
    """Return an address as events have it; what is none stays as it is."""
    return normalised(written) or written


def ascii_domain(written: str) -> str | None:
    """Return a domain in small letters as the DNS has it; None when it is none."""
    try:
        domain = written.rstrip(".").encode("idna").decode().lower()
    except UnicodeError:
        return None
    labels = domain.split(".")
    fits = len(domain) <= _LONGEST_DOMAIN and all(_LABEL.fullmatch(one) for one in labels)
    return domain if fits else None


def domain_of(address: str) -> str:
    """Return the domain of an address, or of what is one already."""
    return address.rpartition("@")[2]


def author(fields: Sequence[str]) -> tuple[str, str] | None:
    """Return (name as written, address) of the one author that From fields name.

    None when they name nobody or several, or could be read in two ways: who checked the sender may
    have read the other one.
    """
    if len(fields) != 1:
        return None
    found = _FULL.fullmatch(fields[0]) or _BARE.fullmatch(fields[0])
    address = normalised(found["address"]) if found else None
    if found is None or address is None:
        return None
    name = (found["name"] or "").strip()
    quoted = name.startswith('"')
    if "@" in _ENCODED.sub("", name) and not quoted and normalised(name) != address:
        return None
    return (re.sub(r"\\(.)", r"\1", name[1:-1]) if quoted else name), address
