"""What must hold of deliveries: from their rows and from what the platforms show.

Every message is shown; once, where the platform drops repeats or can be asked. Where it can do
neither, each repeat that its people see was counted as uncertain before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scripts.drills.world import World

_CHUNKS = """
    SELECT d.id, d.state AS delivery_state, d.error, c.key, c.state, c.uncertain, c.n
    FROM deliveries d LEFT JOIN delivery_chunks c ON c.delivery_id = d.id ORDER BY d.id, c.n
"""
_ORDER = """
    SELECT account, conversation_id, remote_id FROM chat_messages
    WHERE remote_id IS NOT NULL AND author = 'user' ORDER BY conversation_id, seq
"""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, under the name that the verdict counts it by."""

    what: str
    detail: str


class Outgoing:
    """All deliveries of a world, when nothing runs any more."""

    def __init__(self, world: World) -> None:
        """Read rows and platforms."""
        self._chunks = world.records.rows(_CHUNKS)
        self._order = world.records.rows(_ORDER)
        self._platforms: dict[str, Any] = world.platform_api.get("/shown").body
        self._shown: dict[str, Counter[str]] = {
            name: Counter(one["key"] for one in told["shown"])
            for name, told in self._platforms.items()
        }

    @property
    def uncertain(self) -> int:
        """How many messages were sent again without knowing whether they had arrived."""
        return sum(row["uncertain"] or 0 for row in self._chunks)

    def figures(self) -> dict[str, Any]:
        """Return what each platform saw."""
        return {
            name: {
                "posts": told["posts"],
                "shown": len(told["shown"]),
                "shown_again": sum(n - 1 for n in self._shown[name].values()),
            }
            for name, told in self._platforms.items()
        }

    def faults(self) -> Iterator[Fault]:
        """Yield everything that is wrong."""
        for row in self._chunks:
            yield from self._of_chunk(row)
        known = {row["key"] for row in self._chunks}
        for name, told in self._platforms.items():
            for fault in told["faults"]:
                yield Fault("wrong", f"{name} refused a message: {fault}")
            for key in set(self._shown[name]) - known:
                yield Fault("wrong", f"{name} shows {key}, which nobody sent")
            yield from self._out_of_order(name, told)

    def _of_chunk(self, row: dict[str, Any]) -> Iterator[Fault]:
        place = f"{row['id']} part {row['n']}"
        if row["delivery_state"] != "sent" or row["state"] != "sent":
            state = f"{row['delivery_state']}, {row['state']}: {row['error']}"
            yield Fault("lost", f"the delivery {place} is {state}")
            return
        seen = {
            name: found[row["key"]] for name, found in self._shown.items() if row["key"] in found
        }
        if not seen:
            yield Fault("lost", f"the delivery {place} is shown nowhere")
        for name, count in seen.items():
            allowed = row["uncertain"] if self._platforms[name]["mode"] == "plain" else 0
            if count - 1 > allowed:
                yield Fault("doubled", f"{name} shows {place} {count} times, {allowed} counted")

    def _out_of_order(self, name: str, told: dict[str, Any]) -> Iterator[Fault]:
        """Answers are shown in the order of the messages that they answer."""
        answered = [
            one["reply_to"]
            for one in told["shown"]
            if one["kind"] != "approval" and one["turn"] is not None
        ]
        first = list(dict.fromkeys(answered))
        rows = [row for row in self._order if row["account"] == name]
        places = {row["remote_id"]: place for place, row in enumerate(rows)}
        talks = {row["remote_id"]: row["conversation_id"] for row in rows}
        latest: dict[str, int] = {}
        for remote in first:
            if remote not in places:
                continue
            if places[remote] < latest.get(talks[remote], -1):
                yield Fault("disorder", f"{name} shows the answer to {remote} too late")
            latest[talks[remote]] = places[remote]
