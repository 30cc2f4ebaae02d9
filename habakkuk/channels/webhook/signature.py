"""Signatures as the Standard Webhooks specification has them (1.0.0, symmetric, `v1`).

Signed is `<webhook-id>.<webhook-timestamp>.<body>` with HMAC-SHA256 and the secret's bytes; the
header `webhook-signature` holds one or more `v1,<base64>`, separated by spaces.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping

from habakkuk.channels.contract import WebhookRejected
from habakkuk.core.errors import ConfigurationError

ID = "webhook-id"
TIMESTAMP = "webhook-timestamp"
SIGNATURE = "webhook-signature"
_PREFIX = "whsec_"
_SECONDS = re.compile(r"[0-9]{1,12}")
# The specification's own tolerance.
_TOLERANCE_SECONDS = 300
# Its shortest key.
_SHORTEST = 24


class Signer:
    """Signs and checks with one secret."""

    def __init__(self, secret: str, place: str) -> None:
        """Read the secret; `place` names it in the error. Raises ConfigurationError."""
        try:
            key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ConfigurationError(f"{place}: {_ADVICE}") from error
        if len(key) < _SHORTEST:
            raise ConfigurationError(f"{place}: {_ADVICE}")
        self._key = key

    def headers(self, message_id: str, now: int, body: bytes) -> dict[str, str]:
        """Return the three headers for a body sent at `now`, in seconds since 1970."""
        signed = base64.b64encode(self._digest(message_id, str(now), body)).decode()
        return {ID: message_id, TIMESTAMP: str(now), SIGNATURE: f"v1,{signed}"}

    def check(self, headers: Mapping[str, str], body: bytes, now: float) -> str:
        """Return the id of a genuine request. Raises WebhookRejected."""
        message_id = headers.get(ID, "")
        stamp = headers.get(TIMESTAMP, "")
        if not message_id or _SECONDS.fullmatch(stamp) is None:
            raise WebhookRejected(f"the headers {ID}, {TIMESTAMP} and {SIGNATURE} are needed")
        wanted = self._digest(message_id, stamp, body)
        if not any(hmac.compare_digest(wanted, sent) for sent in _sent(headers)):
            raise WebhookRejected("the signature does not fit the body")
        # After the signature: a stranger learns nothing about this server's clock.
        if abs(now - int(stamp)) > _TOLERANCE_SECONDS:
            raise WebhookRejected("the request is older or newer than five minutes")
        return message_id

    def _digest(self, message_id: str, stamp: str, body: bytes) -> bytes:
        signed = b".".join((message_id.encode("utf-8", "surrogateescape"), stamp.encode(), body))
        return hmac.new(self._key, signed, hashlib.sha256).digest()


_ADVICE = (
    "the secret must be at least 24 random bytes in base64, with or without whsec_ before it; make"
    " one with: python3 -c \"import base64, os; print('whsec_' +"
    ' base64.b64encode(os.urandom(32)).decode())"'
)


def _sent(headers: Mapping[str, str]) -> list[bytes]:
    found = []
    for part in headers.get(SIGNATURE, "").split(" "):
        version, _, value = part.partition(",")
        if version == "v1":
            try:
                found.append(base64.b64decode(value, validate=True))
            except (binascii.Error, ValueError):
                continue
    return found
