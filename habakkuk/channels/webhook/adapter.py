"""Signed requests in, signed requests out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from habakkuk.channels.contract import (
    Account,
    Certainty,
    ChannelAdapter,
    Manifest,
    NotSent,
    OutcomeUnknown,
)
from habakkuk.channels.messages import Event, OutboundMessage, RawRequest, Receipt
from habakkuk.channels.webhook import wire
from habakkuk.channels.webhook.manifest import MANIFEST, WebhookSettings
from habakkuk.channels.webhook.signature import ID, Signer
from habakkuk.core.http import Fetched, HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.retry_after import seconds_of

# Shorter than what a stopping process may take: a send that has begun is finished.
_LIMITS = Limits(seconds=6.0, max_bytes=64_000)
_CERTAINTY = {
    "keyed": Certainty.KEY,
    "read-back": Certainty.READ_BACK,
    "plain": Certainty.NONE,
}
_TAKEN = range(200, 300)
_ALREADY = 409
_ABSENT = (404, 410)
# What says that the receiver never saw it, or did nothing with it: a later try can succeed.
_LATER = (408, 425, 429, 500, 503)
# What a proxy says when it lost the receiver in between.
_UNKNOWN = (502, 504)


class WebhookAdapter(ChannelAdapter[WebhookSettings]):
    """Talk to a client of the operator's own."""

    manifest: ClassVar[Manifest] = MANIFEST

    def __init__(self, account: Account, settings: WebhookSettings, http: OutsideHttp) -> None:
        """Read the secret. Raises ConfigurationError."""
        super().__init__(account, settings, http)
        place = f"channels.{account.name}.secret_env"
        self._signer = Signer(account.secret(settings.secret_env), place)

    @property
    def certainty(self) -> Certainty:
        """What the operator says of the receiver."""
        return _CERTAINTY[self.settings.receiver]

    @property
    def limit(self) -> int:
        """What the operator allows for one message."""
        return self.settings.max_characters

    @property
    def sends(self) -> bool:
        """Whether there is an address to send to."""
        return self.settings.url is not None

    def verify(self, request: RawRequest) -> None:
        """Check signature and time."""
        self._signer.check(request.headers, request.body, time.time())

    def parse(self, request: RawRequest) -> Sequence[Event]:
        """Read the one message of a request, or what it corrects."""
        return [wire.read_message(request.headers[ID], request.body)]

    def send(self, message: OutboundMessage) -> Receipt:
        """POST one message; its key stands in `webhook-id` and `Idempotency-Key`."""
        answer = self._call("POST", message, wire.write_message(message))
        if answer.status in _TAKEN or answer.status == _ALREADY:
            return wire.read_receipt(answer.body)
        why = f"the receiver answered HTTP {answer.status}"
        if answer.status in _UNKNOWN:
            raise OutcomeUnknown(why, retry_after=seconds_of(answer.headers))
        raise NotSent(
            why, retryable=answer.status in _LATER, retry_after=seconds_of(answer.headers)
        )

    def find(self, message: OutboundMessage) -> Receipt | None:
        """GET what the receiver has under the key: 2xx with it, or 404."""
        try:
            answer = self._call("GET", message, b"")
        except OutcomeUnknown as unknown:
            raise NotSent(str(unknown), retryable=True) from unknown
        if answer.status in _TAKEN:
            return wire.read_receipt(answer.body)
        if answer.status in _ABSENT:
            return None
        raise NotSent(
            f"the receiver cannot be asked: HTTP {answer.status}",
            retryable=True,
            retry_after=seconds_of(answer.headers),
        )

    def _call(self, method: str, message: OutboundMessage, body: bytes) -> Fetched:
        url = self.settings.url
        if url is None:
            raise NotSent("the account has no url to send to")
        headers = self._signer.headers(message.key, int(time.time()), body)
        headers |= {"content-type": "application/json", "idempotency-key": message.key}
        request = Request(method, url, body, headers)
        try:
            # The operator named the address. A stop of this process does not cut what is sent.
            return self.http.call(request, _LIMITS, Interrupt(), trusted=True)
        except HttpRefused as error:
            raise NotSent(str(error)) from error
        except HttpFailed as error:
            if error.sent:
                raise OutcomeUnknown(str(error)) from error
            raise NotSent(str(error), retryable=True) from error
