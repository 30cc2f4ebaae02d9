"""Where the reading of a mailbox stands, as it is stored with each mail.

A mail that the server does not give out holds nothing up. It is set aside and asked for again, the
more seldom the more often that failed, so that a server's bad hour loses none; in the end it is
given up. A line that breaks is not the mail's fault, until it breaks there again and again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

# After these many refusals: with five minutes at first that is eleven hours.
_MOST_TRIES = 8
_MOST_BREAKS = 3
# Of those that were given up the newest are remembered, to be shown.
_MOST_GIVEN_UP = 20
# A server that gives out none of so many is ill itself.
MOST_ASIDE = 100


@dataclass(frozen=True)
class Aside:
    """A mail that was not given out: since when, how often it was asked for, and why.

    `since` is in seconds since 1970, `size` in bytes, 0 where it is not known.
    """

    since: float
    tries: int
    why: str = ""
    size: int = 0

    def due(self, pause: float) -> float:
        """Return when it is asked for next."""
        return self.since + pause * ((1 << self.tries) - 1)


@dataclass(frozen=True)
class Stand:
    """The last mail of a mailbox, and when the newest one arrived, in seconds since 1970.

    Of the mails up to `until` only those since `since` count: they have new numbers. `broke` is the
    mail at which the line broke last, and how often it did. `given_up` are mails that were asked
    for in vain so often that they are not any more.
    """

    box: str
    validity: int
    uid: int = 0
    seen: float = 0.0
    until: int = 0
    since: float = 0.0
    aside: Mapping[int, Aside] = field(default_factory=dict)
    broke: tuple[int, int] = (0, 0)
    given_up: Mapping[int, Aside] = field(default_factory=dict)

    @classmethod
    def stored(cls, cursor: Mapping[str, Any] | None, box: str) -> Stand | None:
        """Return where a mailbox stands; the numbers of another one mean nothing here."""
        if cursor is None or cursor.get("box") != box:
            return None
        return cls(
            box,
            int(cursor["validity"]),
            int(cursor["uid"]),
            float(cursor["seen"]),
            int(cursor.get("until", 0)),
            float(cursor.get("since", 0.0)),
            _read(cursor.get("aside", {})),
            tuple(cursor.get("broke", (0, 0))),
            _read(cursor.get("given_up", {})),
        )

    def written(self) -> Mapping[str, Any]:
        """Return what is stored with an event."""
        known: dict[str, Any] = {"box": self.box, "validity": self.validity}
        known |= {"uid": self.uid, "seen": self.seen}
        # One that was set aside comes back later, and counts as before.
        if self.is_looking_through or any(uid <= self.until for uid in self.aside):
            known |= {"until": self.until, "since": self.since}
        for name, mails in (("aside", self.aside), ("given_up", self.given_up)):
            if mails:
                known[name] = {str(uid): list(astuple(one)) for uid, one in mails.items()}
        return known | ({"broke": list(self.broke)} if self.broke[0] else {})

    def past(self, uid: int, arrived: float = 0.0) -> Stand:
        """Return where it stands behind a mail."""
        return replace(
            self,
            uid=max(self.uid, uid),
            seen=max(self.seen, arrived),
            aside={number: one for number, one in self.aside.items() if number != uid},
            broke=(0, 0),
        )

    def refused(self, uid: int, now: float, why: str = "", size: int = 0) -> Stand:
        """Return where it stands when a mail was not given out: set aside, or given up."""
        before = self.aside.get(uid, Aside(now, 0))
        behind = self.past(uid)
        again = Aside(before.since, before.tries + 1, why, size or before.size)
        if again.tries >= _MOST_TRIES:
            others = list(behind.given_up.items())[1 - _MOST_GIVEN_UP :]
            return replace(behind, given_up={**dict(others), uid: again})
        return replace(behind, aside={**behind.aside, uid: again})

    def broken(self, uid: int) -> Stand:
        """Return where it stands when the line broke at a mail."""
        times = self.broke[1] if self.broke[0] == uid else 0
        return replace(self, broke=(uid, times + 1))

    def breaks(self, uid: int) -> bool:
        """Whether it is a mail that breaks the line; one that was set aside does so at once."""
        return self.broke[0] == uid and (self.broke[1] >= _MOST_BREAKS or uid in self.aside)

    def due(self, now: float, pause: float) -> Sequence[int]:
        """Return the mails that are asked for again now."""
        return sorted(uid for uid, one in self.aside.items() if one.due(pause) <= now)

    def renumbered(self, validity: int, last: int, moment: float) -> Stand:
        """Return where it begins when all mails up to `last` have new numbers."""
        return Stand(self.box, validity, seen=self.seen, until=last, since=moment)

    @property
    def is_looking_through(self) -> bool:
        """Whether mails with new numbers come next."""
        return self.uid < self.until

    @property
    def earliest(self) -> float:
        """When the first mail arrived, at the latest, that may not have been read."""
        return min([self.seen, *(one.since for one in self.aside.values())])


def _read(mails: Mapping[str, Sequence[Any]]) -> Mapping[int, Aside]:
    return {int(uid): Aside(*one) for uid, one in mails.items()}
