"""Programs that print what they fetch from another machine."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from habakkuk.tools.hardline.calls import Call, takes_value
from habakkuk.tools.hardline.values import plain

_LOOPBACK = re.compile(
    r"localhost\.?|(.+\.)?localhost|127(\.\d{1,3}){1,3}|\[?::1\]?", re.IGNORECASE
)
_NULL = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
_CURL_VALUED = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_NAMES = (
    "data", "data-raw", "data-binary", "data-urlencode", "form", "header", "user-agent", "referer",
    "user", "proxy", "request", "max-time", "connect-timeout", "retry", "retry-delay", "cacert",
    "cert", "key", "cookie", "cookie-jar", "config", "resolve", "write-out", "output", "range",
    "limit-rate", "proto", "tlsv", "ciphers", "interface", "dump-header", "upload-file",
    "retry-max-time", "unix-socket", "max-redirs", "output-dir", "url", "connect-to",
)  # fmt: skip
_WGET_VALUED = "oaeiBtTwQPUOlADIXR"
_WGET_NAMES = (
    "output-document", "output-file", "header", "user-agent", "user", "password", "tries",
    "timeout", "directory-prefix", "post-data", "post-file", "wait", "load-cookies", "method",
    "body-data", "referer", "ca-certificate", "input-file",
)  # fmt: skip
# These print what they fetch when nothing else is said.
_PRINT = frozenset("lynx w3m links elinks http https xh xhs httpie hget".split())  # noqa: SIM905 - a line of names


def fetches(call: Call) -> bool:
    """Whether a program prints what it fetches from a host that is not this machine."""
    if call.name == "curl":
        return _prints(call, "o", "output", default=True) and _is_far(
            call, _CURL_VALUED, _CURL_NAMES
        )
    if call.name in {"wget", "wget2"}:
        return _prints(call, "O", "output-document", default=False) and _is_far(
            call, _WGET_VALUED, _WGET_NAMES
        )
    if call.name in {"fetch", "aria2c"}:
        return _prints(call, "o", "output", default=False) and _is_far(call, "o", ())
    if call.name in _PRINT:
        return _is_far(call, "", ())
    if call.name in {"nc", "ncat", "netcat", "telnet", "socat"}:
        return not call.has("l", "listen") and _talks_to_far(call)
    return False


def _prints(call: Call, letter: str, name: str, *, default: bool) -> bool:
    """Whether the output goes to the standard output, by the last option that says where."""
    where: str | None = None
    words = iter(call.words)
    for word in words:
        found = re.fullmatch(rf"--{name}(?:=(.*))?", word, re.DOTALL)
        if found is not None:
            where = found[1] if found[1] is not None else next(words, "")
        elif re.match(r"-[A-Za-z]", word):
            place = word.find(letter, 1)
            if place > 0:
                where = word[place + 1 :] or next(words, "")
            elif default and "O" in word[1:]:
                where = "a file named as the page is"
        elif word in {"--remote-name", "--remote-name-all"}:
            where = "a file named as the page is"
    return default if where is None else where in _NULL


def _is_far(call: Call, valued: str, names: tuple[str, ...]) -> bool:
    """Whether any of the addresses is not this machine's, or not known."""
    addresses = [plain(one) for one in call.operands(valued, names)]
    words = iter(call.words)
    for word in words:
        if word == "--url":
            addresses.append(next(words, ""))
        elif word.startswith("--url="):
            addresses.append(word.partition("=")[2])
        elif takes_value(word, valued, names):
            next(words, None)
    if not addresses:
        return call.has("Ki", "config", "input-file")
    return any(not is_near(address) for address in addresses)


def is_near(address: str) -> bool:
    """Whether an address is this machine's own for certain."""
    text = address if "//" in address else f"//{address}"
    try:
        parts = urlsplit(text)
        if parts.scheme == "file":
            return True
        host = parts.hostname or ""
    except ValueError:
        return False
    return _LOOPBACK.fullmatch(host) is not None and "\\" not in address


def _talks_to_far(call: Call) -> bool:
    if call.name == "socat":
        return any(
            re.search(r"(tcp|udp|ssl|openssl)\w*:(?!localhost|127\.|\[::1\])", word, re.IGNORECASE)
            and "listen" not in word.lower()
            for word in call.words
        )
    hosts = [plain(one) for one in call.operands("ipqsTwXx")]
    return bool(hosts) and not is_near(hosts[0])
