"""What whoever runs this is told of mails that the server does not give out: nothing of them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from habakkuk.channels.contract import Withheld
from habakkuk.channels.email.place import Aside, Stand
from habakkuk.core.text import size_text

_WEEK_SECONDS = 7 * 86_400.0
_AGAIN = (
    "it is asked for again, for eleven hours; if no mail program can open it either, delete it or"
    " ask your provider"
)
_NEVER = (
    "it was asked for {tries} times and is not any more; to have it read, let it be sent again or"
    " copy it within the mailbox, since a copy has a number of its own"
)


def withheld(place: Stand) -> Sequence[Withheld]:
    """Return the mails that wait, and for a week those that were given up."""
    given_up = [
        _told(uid, one, _NEVER.format(tries=one.tries))
        for uid, one in place.given_up.items()
        if one.since > time.time() - _WEEK_SECONDS
    ]
    return [*(_told(uid, one, _AGAIN) for uid, one in place.aside.items()), *given_up]


def _told(uid: int, one: Aside, advice: str) -> Withheld:
    size = f" ({size_text(one.size)})" if one.size else ""
    return Withheld(f"mail {uid}{size}", one.since, one.why or "the server refuses it", advice)
