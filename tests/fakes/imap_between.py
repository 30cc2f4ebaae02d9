"""Stands between a program and an IMAP server, and leaves mails out of what the server answers.

Servers do that: an answer to FETCH ends with OK, and of one mail it says nothing (RFC 3501 asks for
no more than that it is complete).
"""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from typing import BinaryIO, Self

_FETCHED = re.compile(rb"\* \d+ FETCH \(.*?\bUID (\d+)")
_LITERAL = re.compile(rb"\{(\d+)\}\r\n\Z")


class Between:
    """Listens on `port`. Mails whose numbers stand in `hidden` are answered nothing of."""

    def __init__(self, port: int) -> None:
        self.hidden: set[int] = set()
        # Of these the header is told, and nothing else.
        self.headers_only: set[int] = set()
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._lines: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for line in self._lines:
            line.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._lines += [near, far]
                for pump in (self._up, self._down):
                    self._threads.append(threading.Thread(target=pump, args=(near, far)))
                    self._threads[-1].start()

    @staticmethod
    def _up(near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while said := near.recv(65_536):
                far.sendall(said)
            far.shutdown(socket.SHUT_RDWR)

    def _down(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError), far.makefile("rb") as answers:
            while answer := _answer(answers):
                if not self._is_left_out(answer):
                    near.sendall(answer)
            near.shutdown(socket.SHUT_RDWR)

    def _is_left_out(self, answer: bytes) -> bool:
        found = _FETCHED.match(answer)
        if found is None:
            return False
        uid = int(found[1])
        return uid in self.hidden or (uid in self.headers_only and b"BODY[]" in answer)


def _answer(answers: BinaryIO) -> bytes:
    """Return the next answer with its literals."""
    told = answers.readline()
    while found := _LITERAL.search(told):
        told += answers.read(int(found[1])) + answers.readline()
    return told
