"""`python -m scripts.drills.cutter LISTEN SERVER LOG`: cut connections around their commits.

It stands between the product and PostgreSQL on Unix sockets. From SIGUSR1 to SIGUSR2 it breaks some
of the connections that change something: half of them after the server has carried out the change,
whose answer is dropped, the other half before the server has seen it. The product cannot tell
which. One line a cut goes to the log.
"""

from __future__ import annotations

import asyncio
import random
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

_CHANCE = 0.03
_AFTER_SHARE = 0.6
_STARTUP, _HEADER = 4, 5
_READY = b"Z\x00\x00\x00\x05"
_CHUNK = 65536
_ANSWER_SECONDS = 2.0
_CHANGE = re.compile(rb"\A\s*COMMIT\b|\bINSERT INTO\b|\bUPDATE [a-z_]+ ", re.IGNORECASE)


class Cutter:
    """The proxy; `armed` while it cuts."""

    def __init__(self, server: str, log: Path) -> None:
        """Pass on to the server's socket."""
        self.armed = False
        self._server = server
        self._log = log

    def arm(self) -> None:
        """Cut from now on."""
        self.armed = True

    def calm(self) -> None:
        """Only pass on from now on."""
        self.armed = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on until either side ends."""
        try:
            there, back = await asyncio.open_unix_connection(self._server)
        except OSError:
            writer.close()
            return
        line = _Line(self, (reader, writer), (there, back))
        tasks = [asyncio.create_task(line.forth()), asyncio.create_task(line.back())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in (writer, back):
            end.close()

    def strikes(self, message: bytes) -> str | None:
        """Say whether a client's message is where this connection ends, and on which side."""
        if not self.armed or message[:1] != b"Q" or _CHANGE.search(message[_HEADER:]) is None:
            return None
        if random.random() > _CHANCE:  # noqa: S311 - a drill, no secret
            return None
        side = "after" if random.random() < _AFTER_SHARE else "before"  # noqa: S311 - as above
        kind = "commit" if b"COMMIT" in message[:20] else "statement"
        with self._log.open("a", encoding="utf-8") as out:
            out.write(f"{side} {kind}\n")
        return side


class _Line:
    """One connection: the product's end and the server's."""

    def __init__(
        self,
        cutter: Cutter,
        near: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        far: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._cutter = cutter
        self._from_client, self._to_client = near
        self._from_server, self._to_server = far
        self._silent = False
        self._answered = asyncio.Event()

    async def forth(self) -> None:
        """Pass the client's messages on, one by one."""
        with suppress(asyncio.IncompleteReadError, OSError):
            size = await self._from_client.readexactly(_STARTUP)
            self._to_server.write(size + await self._rest(size))
            while True:
                head = await self._from_client.readexactly(_HEADER)
                message = head + await self._rest(head[1:])
                side = self._cutter.strikes(message)
                if side == "before":
                    return
                self._silent = side == "after"
                self._to_server.write(message)
                await self._to_server.drain()
                if self._silent:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._answered.wait(), _ANSWER_SECONDS)
                    return

    async def back(self) -> None:
        """Pass what the server says on, unless the connection is to end."""
        with suppress(OSError):
            while data := await self._from_server.read(_CHUNK):
                if not self._silent:
                    self._to_client.write(data)
                    await self._to_client.drain()
                elif _READY in data[-12:]:
                    self._answered.set()

    async def _rest(self, size: bytes) -> bytes:
        return await self._from_client.readexactly(int.from_bytes(size, "big") - _STARTUP)


async def _main(listen: str, server: str, log: str) -> None:
    cutter = Cutter(server, Path(log))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, cutter.arm)
    loop.add_signal_handler(signal.SIGUSR2, cutter.calm)
    proxy = await asyncio.start_unix_server(cutter.serve, listen, backlog=256)
    async with proxy:
        await proxy.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:4]))
