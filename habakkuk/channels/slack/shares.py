"""Messages that somebody forwards: they hang on the message that does so, as attachments.

https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments has their
fields; `is_share` tells them from the looks at links that Slack adds by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from habakkuk.channels.slack import mrkdwn

_UNREADABLE = "(something that cannot be read here)"


class _Share(BaseModel):
    model_config = ConfigDict(strict=True)
    is_share: bool = False
    text: str | None = None


def read(attachments: Sequence[Any], names: mrkdwn.Names) -> Sequence[str]:
    """Return what the messages say that are forwarded; what cannot be read is no such message."""
    found = []
    for attached in attachments:
        try:
            share = _Share.model_validate(attached)
        except ValidationError:
            continue
        if share.is_share:
            found.append(mrkdwn.plain(share.text or "", names).strip() or _UNREADABLE)
    return found


def below(said: str, shared: Sequence[str]) -> str:
    """Return what somebody said, and below it what they forward, which is no command of theirs."""
    return "\n\n".join(filter(None, [said, *(f"Forwarded:\n{one}" for one in shared)]))
