"""What the publisher gathers and in which order, with a Redis that only remembers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError

from habakkuk.core.redis import RedisGate
from habakkuk.events.publisher import Publisher, TurnEvents
from habakkuk.events.types import Event, EventType

TEXT = EventType.TEXT


class Gate(RedisGate):
    """Remembers batches; `open` cleared holds a flush back."""

    def __init__(self) -> None:
        super().__init__("redis://127.0.0.1:1")
        self.batches: list[list[Event]] = []
        self.expiries: list[int] = []
        self.came, self.open = threading.Event(), threading.Event()
        self.open.set()
        self.failure: Exception | None = None

    def call(self, action: Callable[[Any], Any]) -> Any:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            self.came.set()
            raise failure
        return action(self)

    def register_script(self, _script: str) -> Callable[..., None]:
        return self.run

    def run(self, args: list[Any]) -> None:
        assert args[0] == "hab:1:live"
        pieces = [args[at : at + 4] for at in range(2, len(args), 4)]
        batch = [Event.decode(body) for _, _, body, _ in pieces]
        self.batches.append([event for event in batch if event is not None])
        self.expiries += [keep for *_, keep in pieces if keep]
        self.came.set()
        assert self.open.wait(20)

    def events(self) -> list[Event]:
        return [event for batch in self.batches for event in batch]


def started(gate: Gate | None) -> tuple[Publisher, TurnEvents]:
    publisher = Publisher(gate)
    return publisher, TurnEvents(publisher, "s", "t", 5)


def test_the_first_delta_of_a_step_goes_alone_and_later_ones_gather() -> None:
    gate = Gate()
    publisher, events = started(gate)
    gate.open.clear()
    events.emit(TEXT, 1, text="a")
    assert gate.came.wait(20)
    for letter in "bcd":
        events.emit(TEXT, 1, text=letter)
    gate.open.set()
    publisher.stop()
    assert [event.data["text"] for event in gate.events()] == ["a", "bcd"]


def test_numbers_only_rise_and_the_gathered_one_has_the_last() -> None:
    gate = Gate()
    publisher, events = started(gate)
    gate.open.clear()
    events.emit(TEXT, 1, text="a")
    assert gate.came.wait(20)
    for letter in "bc":
        events.emit(TEXT, 1, text=letter)
    events.emit(EventType.STEP_DONE, 1)
    gate.open.set()
    publisher.stop()
    assert [(event.fence, event.number) for event in gate.events()] == [(5, 1), (5, 3), (5, 4)]


def test_nothing_is_gathered_over_another_event_step_or_kind() -> None:
    gate = Gate()
    publisher, events = started(gate)
    gate.open.clear()
    events.emit(EventType.TURN_STARTED)
    assert gate.came.wait(20)
    events.emit(EventType.THINKING, 0, text="t")
    events.emit(TEXT, 0, text="a")
    events.emit(EventType.TOOL_STARTED, 0, call="c")
    events.emit(TEXT, 0, text="b")
    events.emit(TEXT, 1, text="c")
    gate.open.set()
    publisher.stop()
    texts = [event.data.get("text") for event in gate.events()]
    assert texts == [None, "t", "a", None, "b", "c"]


def test_a_running_turns_stream_is_kept_a_day_and_an_ended_one_a_minute() -> None:
    gate = Gate()
    publisher, events = started(gate)
    events.emit(EventType.TURN_STARTED)
    events.emit(EventType.TURN_WAITING)
    events.emit(EventType.TURN_ENDED)
    publisher.stop()
    assert gate.expiries == [86_400, 60, 60]


def test_many_threads_lose_nothing_and_keep_the_order() -> None:
    gate = Gate()
    publisher, events = started(gate)

    def emit() -> None:
        for _ in range(50):
            events.emit(EventType.TOOL_STARTED, 1)

    threads = [threading.Thread(target=emit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    publisher.stop()
    assert [event.number for event in gate.events()] == list(range(1, 401))


def test_without_redis_every_event_is_dropped() -> None:
    publisher, events = started(None)
    events.emit(TEXT, 1, text="a")
    publisher.stop()


def test_a_failure_drops_its_events_and_nothing_else() -> None:
    for failure in (RedisConnectionError("gone"), ValueError("a fault of ours")):
        gate = Gate()
        gate.failure = failure
        publisher, events = started(gate)
        events.emit(TEXT, 1, text="lost")
        assert gate.came.wait(20)
        events.emit(EventType.STEP_DONE, 1)
        publisher.stop()
        assert [event.type for event in gate.events()][-1] is EventType.STEP_DONE


def test_a_stopped_publisher_starts_no_thread() -> None:
    gate = Gate()
    publisher, events = started(gate)
    publisher.stop()
    events.emit(TEXT, 1, text="a")
    assert gate.batches == []
