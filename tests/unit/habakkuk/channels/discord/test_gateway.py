"""What is told at Discord's gateway while nothing can be stored."""

from __future__ import annotations

import asyncio
from queue import SimpleQueue

import pytest

from habakkuk.channels.discord import gateway

_NOWHERE = gateway.Place("http://127.0.0.1:9", None, message_content=True)


def test_the_line_is_left_before_frames_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL may be away for hours, and a large server writes all the time."""
    monkeypatch.setattr(gateway, "_MOST_WAITING", 3)
    found: SimpleQueue[str | BaseException | None] = SimpleQueue()

    async def told() -> list[bool]:
        async with gateway._Client(_NOWHERE, found) as client:
            closed = []
            for n in range(3):
                await client.on_socket_raw_receive(f"frame {n}")
                closed.append(client.is_closed())
            return closed

    assert asyncio.run(told()) == [False, False, True]
    assert [found.get() for _ in range(3)] == ["frame 0", "frame 1", "frame 2"]
