"""How Slack proves its requests: version 0 of its signatures.

https://docs.slack.dev/authentication/verifying-requests-from-slack: signed is
`v0:<timestamp>:<body>` with HMAC-SHA256 and the signing secret. The SDK's own check cannot take a
body that is no UTF-8, and breaks on headers that are no numbers or no ASCII.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping

from habakkuk.channels.contract import WebhookRejected

_TIMESTAMP = "x-slack-request-timestamp"
_SIGNATURE = "x-slack-signature"
_SECONDS = re.compile(r"[0-9]{1,12}")
# Slack's own tolerance.
_TOLERANCE_SECONDS = 300


def check(secret: bytes, headers: Mapping[str, str], body: bytes, now: float) -> None:
    """Prove a request that came at `now`, in seconds since 1970. Raises WebhookRejected."""
    stamp = headers.get(_TIMESTAMP, "")
    if _SECONDS.fullmatch(stamp) is None:
        raise WebhookRejected(f"the headers {_TIMESTAMP} and {_SIGNATURE} are needed")
    digest = hmac.new(secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    sent = headers.get(_SIGNATURE, "").encode("utf-8", "surrogateescape")
    if not hmac.compare_digest(b"v0=" + digest.encode(), sent):
        raise WebhookRejected("the signature does not fit the body")
    # After the signature: a stranger learns nothing about this server's clock.
    if abs(now - int(stamp)) > _TOLERANCE_SECONDS:
        raise WebhookRejected("the request is older or newer than five minutes")
