"""A line between a browser and the server that can be cut at any moment."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Line:
    """Passes bytes both ways. `cut` breaks every connection; new ones are accepted at once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()

    def cut(self) -> int:
        """Break all connections and return how many there were."""
        with self._lock:
            ends = list(self._ends)
            self._ends.clear()
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return len(ends) // 2

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            with self._lock:
                self._ends |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._ends -= {source, target}
        source.close()
