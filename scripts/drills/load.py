"""Load: clients that ask one thing after the other until they are told to stop."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, replace

from scripts.drills.accounts import ACCOUNTS
from scripts.drills.asks import Ask, Surface, Writer
from scripts.drills.clients import Patience, carry_out
from scripts.drills.phones import Phones
from scripts.harness.http import Api


@dataclass(frozen=True)
class Mix:
    """How many clients of each kind, how long each rests between two asks, and their patience.

    `careful`: every third client of the chat API has its effects asked for; somebody must answer.
    """

    chat: int = 8
    whole: int = 3
    stream: int = 5
    rest: float = 0.05
    patience: float = 240.0
    careful: bool = False


class Load:
    """Runs the clients in threads and keeps every ask."""

    def __init__(
        self,
        api: Api,
        rng: random.Random,
        name: str,
        mix: Mix | None = None,
        phones: Phones | None = None,
    ) -> None:
        """Prepare; `name` makes the ids of this load its own.

        With `phones` there is one more client for each account of the webhook channel.
        """
        self._api = api
        self._phones = phones
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
        seeds = [rng.random() for _ in range(sum(count for _, count in kinds))]
        names = [(surface, number) for surface, count in kinds for number in range(count)]
        self._threads = [
            self._thread(surface, number, f"{name}{surface[0]}{number}", seed)
            for (surface, number), seed in zip(names, seeds, strict=True)
        ]
        if phones is not None:
            self._threads += [
                self._phone_thread(phones, account.name, rng.random(), name) for account in ACCOUNTS
            ]

    def _thread(self, surface: Surface, number: int, name: str, seed: float) -> threading.Thread:
        writer = Writer(random.Random(seed), name)  # noqa: S311 - a drill, no secret
        agent = _agent(surface, number) if self._mix.careful else None
        args = (surface, agent, writer)
        return threading.Thread(target=self._client, args=args, daemon=True)

    def _phone_thread(
        self, phones: Phones, account: str, seed: float, name: str
    ) -> threading.Thread:
        rng = random.Random(seed)  # noqa: S311 - a drill, no secret
        args = (phones, account, rng, Writer(rng, f"{name}{account}"))
        return threading.Thread(target=self._phone, args=args, daemon=True)

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

    def _client(self, surface: Surface, agent: str | None, writer: Writer) -> None:
        conversation = f"{writer.name}-room" if surface is Surface.CHAT else ""
        while not self._stop.is_set():
            self._go.wait()
            if self._stop.is_set():
                return
            ask = writer.next(surface, conversation, agent)
            with self._lock:
                self.asks.append(ask)
            carry_out(self._api, ask, self._patience)
            with self._lock:
                self.answered += 1
            self._stop.wait(self._mix.rest)

    def _phone(self, phones: Phones, account: str, rng: random.Random, writer: Writer) -> None:
        room = f"{writer.name}-room"
        while not self._stop.is_set():
            self._go.wait()
            if self._stop.is_set():
                return
            asks = [
                replace(writer.next(Surface.WEBHOOK, room), account=account)
                for _ in range(phones.how_many(rng))
            ]
            with self._lock:
                self.asks += asks
            phones.carry_out(asks, rng, self._patience)
            with self._lock:
                self.answered += len(asks)
            self._stop.wait(self._mix.rest)


def _agent(surface: Surface, number: int) -> str | None:
    """Let every third client of the chat API talk to the agent that asks before every effect."""
    return "careful" if surface is Surface.CHAT and number % 3 == 0 else None
