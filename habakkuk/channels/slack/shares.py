"""Messages that somebody forwards: they hang on the message that does so, as attachments.

https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments has their
fields; `is_share` tells them from the looks at links that Slack adds by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from habakkuk.channels.slack import mrkdwn

_LEFT_OUT = "what a forwarded message holds"


class _Share(BaseModel):
    model_config = ConfigDict(strict=True)
    is_share: bool = False
    text: str | None = None
    files: list[Any] = []


@dataclass(frozen=True)
class Shares:
    """What forwarded messages say, and what of them cannot be read."""

    said: Sequence[str] = ()
    unread: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything was forwarded."""
        return bool(self.said or self.unread)


def read(attachments: Sequence[Any], names: mrkdwn.Names) -> Shares:
    """Return what is forwarded; what cannot be read is no such message."""
    said, whole = [], True
    for attached in attachments:
        try:
            share = _Share.model_validate(attached)
        except ValidationError:
            continue
        if not share.is_share:
            continue
        text = mrkdwn.plain(share.text or "", names).strip()
        whole = whole and bool(text) and not share.files
        if text:
            said.append(text)
    return Shares(said, () if whole else (_LEFT_OUT,))


def below(said: str, shared: Shares) -> str:
    """Return what somebody said, and below it what they forward, which is no command of theirs."""
    return "\n\n".join(filter(None, [said, *(f"Forwarded:\n{one}" for one in shared.said)]))
