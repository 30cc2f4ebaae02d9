"""HTTP answers of model services, as the wires need them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from tests.fakes.model_script import Cut, Part, Reply, Stall

# What every format may meet.
ANYWHERE = {
    "silence": lambda: Reply([], before=[Stall()]),
    "flood": lambda: Reply(repeat(b": ping\n\n")),
    "empty": lambda: Reply([]),
    "html": lambda: Reply([b"<html><body>Welcome</body></html>"], content_type="text/html"),
    "redirect": lambda: as_json({}, 307, location="http://127.0.0.1:9/v1"),
}


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    """Return a body of JSON."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    body = [json.dumps(value).encode()]
    return Reply(body, status, content_type="application/json", headers=named)


def stream(*parts: Sequence[Part]) -> Reply:
    """Return a stream of these groups of parts."""
    return Reply([part for group in parts for part in group])


def closing(reply: Reply) -> Reply:
    """Return the same, ended by the end of its connection."""
    return Reply(reply.parts, framing="close")


def events_of(reply: Reply) -> list[bytes]:
    """Return the events of a stream, whole."""
    sent = b"".join(part for part in reply.parts if isinstance(part, bytes))
    return [event + b"\n\n" for event in sent.split(b"\n\n") if event]


def cut_after(events: Sequence[bytes], count: int, *, inside: bool, clean: bool) -> Reply:
    """Return a stream that breaks off after `count` events, or inside the next one.

    `clean`: the connection ends as if that were all.
    """
    parts: list[Part] = list(events[:count])
    if inside:
        parts.append(events[count][: len(events[count]) // 2])
    return Reply(parts, framing="close") if clean else Reply([*parts, Cut()])
