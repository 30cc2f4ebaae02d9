"""Whether the mailbox's own server vouches for a sender: From alone can be written by anybody.

A server writes what it found into Authentication-Results (RFC 8601), on top of what came. A
sender can write such fields as well, so the topmost alone counts, and only with the name of the
server that is trusted. Alignment is strict (RFC 7489, section 3.1): which other domains belong to
one takes a list of public suffixes, which the server asked where DMARC passed. A subdomain may be
a customer's, and what stands above a domain may be a registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message

from habakkuk.channels.email import headers
from habakkuk.channels.email.addresses import ascii_domain, domain_of

_FIELD = "authentication-results"
# What a backslash leads ends no comment: the server writes what a sender told it so.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|([();=])|((?:\\.|[^\s"();=])+)')
_METHOD = re.compile(r"([a-z0-9-]+)(/[0-9]+)?")


@dataclass(frozen=True)
class Finding:
    """What a server found by one method; `of` has its properties, such as header.from."""

    method: str
    result: str
    of: Mapping[str, str]


@dataclass(frozen=True)
class Results:
    """One field: who says it, in small letters, and what."""

    server: str
    findings: tuple[Finding, ...]


def doubt(mail: Message, sender: str, trusted: str | None) -> str | None:
    """Return why a sender is not known to have written a mail; None: a server vouches for it."""
    fields = headers.raw(mail, _FIELD)
    if trusted is None:
        return "no server is trusted to check it (trusted_authserv)"
    if not fields:
        return "the server wrote down no check of it (Authentication-Results)"
    results = read(fields[0])
    if results is None:
        return "its Authentication-Results cannot be read"
    if not _ends_in(results.server, trusted.lower()):
        return f"its Authentication-Results are of {results.server}, not of {trusted}"
    return None if _is_proven(results, domain_of(sender)) else "no check of it passed"


def server_of(mail: Message) -> str | None:
    """Return who says that it checked a mail's sender."""
    fields = headers.raw(mail, _FIELD)
    results = read(fields[0]) if fields else None
    return results.server if results else None


def read(field: str) -> Results | None:
    """Read one Authentication-Results; None when it is none."""
    parts = list(_parts(field))
    if not parts or not parts[0]:
        return None
    findings = tuple(filter(None, map(_finding, parts[1:])))
    return Results(parts[0][0].lower(), findings)


def _is_proven(results: Results, domain: str) -> bool:
    said = [one for one in results.findings if one.method == "dmarc"]
    if said:
        # A From that can be read in two ways could have been checked as the other one.
        named = {one.of["header.from"] for one in said if "header.from" in one.of}
        if any(one.result == "fail" for one in said) or not named <= {domain}:
            return False
        if named and all(one.result == "pass" for one in said):
            return True
    return any(_vouches(one, domain) for one in results.findings)


def _vouches(finding: Finding, domain: str) -> bool:
    if finding.result != "pass":
        return False
    if finding.method == "dkim":
        signer = finding.of.get("header.d") or finding.of.get("header.i", "")
        return domain_of(signer) == domain != ""
    if finding.method == "spf":
        return domain_of(finding.of.get("smtp.mailfrom", "")) == domain != ""
    return False


def _ends_in(name: str, end: str) -> bool:
    return name == end or name.endswith(f".{end}")


def _finding(tokens: list[str]) -> Finding | None:
    """Read `method[/version]=result`, then `type.property=value` as often as it comes."""
    pairs: list[tuple[str, str]] = []
    # Of an address whose local part is quoted the domain is a token of its own.
    behind = [*tokens[3:], ""]
    for name, mark, value, rest in zip(tokens, tokens[1:], tokens[2:], behind, strict=False):
        if mark == "=":
            pairs.append((name.lower(), value + rest if rest.startswith("@") else value))
    if not pairs:
        return None
    method = _METHOD.fullmatch(pairs[0][0])
    if method is None:
        return None
    # The first of each holds: what comes later may be what a sender wrote.
    of: dict[str, str] = {}
    for name, value in pairs[1:]:
        of.setdefault(name, _domain(value))
    return Finding(method[1], pairs[0][1].lower(), of)


def _domain(value: str) -> str:
    local, at, domain = value.rpartition("@")
    return f"{local}{at}{ascii_domain(domain) or domain.lower()}"


def _parts(field: str) -> Iterator[list[str]]:
    """Yield the tokens between semicolons, without comments."""
    depth = 0
    part: list[str] = []
    for quoted, mark, word in _TOKEN.findall(field):
        if mark == "(":
            depth += 1
        elif mark == ")":
            depth = max(depth - 1, 0)
        elif depth:
            continue
        elif mark == ";":
            yield part
            part = []
        else:
            part.append(mark or word or quoted)
    yield part
