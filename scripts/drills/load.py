"""Load: clients that ask one thing after the other until they are told to stop."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass

from scripts.drills.asks import Ask, Surface, Writer
from scripts.drills.clients import Patience, carry_out
from scripts.drills.http import Api


@dataclass(frozen=True)
class Mix:
    """How many clients of each kind, how long each rests between two asks, and their patience."""

    chat: int = 8
    whole: int = 3
    stream: int = 5
    rest: float = 0.05
    patience: float = 240.0


class Load:
    """Runs the clients in threads and keeps every ask."""

    def __init__(self, api: Api, rng: random.Random, name: str, mix: Mix | None = None) -> None:
        """Prepare; `name` makes the ids of this load its own."""
        self._api = api
        self._mix = mix or Mix()
        self._stop = threading.Event()
        self._go = threading.Event()
        self._go.set()
        self._lock = threading.Lock()
        self._patience = Patience(self._mix.patience)
        self.asks: list[Ask] = []
        self.answered = 0
        kinds = [(Surface.CHAT, self._mix.chat), (Surface.WHOLE, self._mix.whole)]
        kinds.append((Surface.STREAM, self._mix.stream))
        self._threads = [
            threading.Thread(
                target=self._client,
                args=(surface, Writer(random.Random(rng.random()), f"{name}{surface[0]}{number}")),  # noqa: S311 - a drill, no secret
                daemon=True,
            )
            for surface, count in kinds
            for number in range(count)
        ]

    def start(self) -> None:
        """Let the clients ask."""
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Let nobody begin anything new."""
        self._go.clear()

    def go_on(self) -> None:
        """Let the clients ask again."""
        self._go.set()

    def waiting(self) -> int:
        """Return how many asks have no answer yet."""
        return len(self.asks) - self.answered

    def stop(self) -> list[Ask]:
        """Begin nothing new, wait for every answer, return all asks."""
        self._stop.set()
        self._go.set()
        for thread in self._threads:
            thread.join()
        return self.asks

    def _client(self, surface: Surface, writer: Writer) -> None:
        conversation = f"{writer.name}-room" if surface is Surface.CHAT else ""
        while not self._stop.is_set():
            self._go.wait()
            if self._stop.is_set():
                return
            ask = writer.next(surface, conversation)
            with self._lock:
                self.asks.append(ask)
            carry_out(self._api, ask, self._patience)
            with self._lock:
                self.answered += 1
            self._stop.wait(self._mix.rest)
