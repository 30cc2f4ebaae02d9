"""The facts of the webhook channel."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from habakkuk.channels.contract import AccountSettings, Manifest
from habakkuk.core.config.values import Url, Variable

_LIMIT = 30_000


class WebhookSettings(AccountSettings):
    """`receiver` says what the other side does with a repeated message.

    keyed: it drops a repeated Idempotency-Key. read-back: it can be asked for one. plain: neither.
    """

    secret_env: Variable
    url: Url | None = None
    receiver: Literal["keyed", "read-back", "plain"] = "plain"
    max_characters: Annotated[int, Field(ge=100, le=1_000_000)] = _LIMIT


MANIFEST = Manifest(
    name="webhook",
    title="Webhook",
    settings=WebhookSettings,
    limit=_LIMIT,
    bursts=False,
    pairs=False,
)
