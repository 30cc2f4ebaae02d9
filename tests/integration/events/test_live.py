"""From a worker to every client over a real Redis, which may go away (blueprint §9, §10)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from habakkuk.core.redis import RedisGate
from habakkuk.events import hub as hub_module
from habakkuk.events.hub import LiveHub, Subscription
from habakkuk.events.publisher import Publisher, TurnEvents
from habakkuk.events.types import LIVE_CHANNEL, Event, EventType, stream_key
from tests.fakes.stack import until
from tests.servers import ValkeyServer

TEXT = EventType.TEXT


class Live:
    """A worker's and a web process's side on one server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.gate = RedisGate(url)
        self.publisher = Publisher(self.gate)
        self.hub = LiveHub(RedisGate(url))

    def turn(self, fence: int = 1, session: str = "s") -> TurnEvents:
        return TurnEvents(self.publisher, session, f"turn of {session}", fence)

    def close(self) -> None:
        self.hub.stop()
        self.publisher.stop()


@pytest.fixture
def live(redis_url: str) -> Iterator[Live]:
    made = Live(redis_url)
    yield made
    made.close()


def received(subscription: Subscription, number: int = 1) -> list[Event]:
    found: list[Event] = []

    def enough() -> bool:
        found.extend(event for event in [subscription.get(0.2)] if event)
        return len(found) >= number

    until(enough)
    return found


def test_a_client_sees_what_is_published_while_it_listens(live: Live) -> None:
    with live.hub.subscribed("s") as subscription:
        live.turn().emit(TEXT, 1, text="hello")
        (event,) = received(subscription)
    assert (event.type, event.data, event.position) == (TEXT, {"text": "hello"}, (1, 1))


def test_a_client_sees_its_own_session_only(live: Live) -> None:
    with live.hub.subscribed("s") as mine, live.hub.subscribed("other") as other:
        live.turn(session="other").emit(TEXT, 1, text="theirs")
        live.turn(session="s").emit(TEXT, 1, text="mine")
        assert received(mine)[0].data["text"] == "mine"
        assert received(other)[0].data["text"] == "theirs"
        assert mine.get(0) is None


def test_two_clients_of_a_session_both_see_it(live: Live) -> None:
    with live.hub.subscribed("s") as one, live.hub.subscribed("s") as two:
        live.turn().emit(TEXT, 1, text="a")
        assert received(one) == received(two)


def test_nothing_falls_between_the_replay_and_what_is_live(live: Live) -> None:
    """K42: subscribe first, replay, drop what was seen."""
    events = live.turn()

    def write() -> None:
        for number in range(300):
            events.emit(EventType.TOOL_STARTED, 1, n=number)

    writing = threading.Thread(target=write)
    writing.start()
    with live.hub.subscribed("s") as subscription:
        seen = {event.position: event for event in live.hub.replay("s")}
        replayed = len(seen)
        while len(seen) < 300:
            for event in received(subscription):
                seen.setdefault(event.position, event)
    writing.join()
    assert replayed < 300 or len(seen) == 300
    assert [seen[key].data["n"] for key in sorted(seen)] == list(range(300))


def test_a_worker_that_lost_its_turn_cannot_write_into_the_stream(live: Live) -> None:
    live.turn(fence=2).emit(TEXT, 1, text="new")
    until(lambda: live.hub.replay("s"))
    live.turn(fence=1).emit(TEXT, 1, text="stale")
    live.turn(fence=3).emit(TEXT, 1, text="newest")
    until(lambda: len(live.hub.replay("s")) == 2)
    assert [event.data["text"] for event in live.hub.replay("s")] == ["new", "newest"]


def test_the_stream_goes_a_minute_after_its_turn(live: Live) -> None:
    events = live.turn()
    events.emit(EventType.TURN_STARTED)
    until(lambda: live.gate.call(lambda client: client.ttl(stream_key("s"))) > 3600)
    events.emit(EventType.TURN_ENDED)
    until(lambda: 0 < live.gate.call(lambda client: client.ttl(stream_key("s"))) <= 60)


def test_a_session_without_events_replays_nothing(live: Live) -> None:
    assert live.hub.replay("nothing") == []


def test_what_is_no_event_is_passed_over(live: Live) -> None:
    with live.hub.subscribed("s") as subscription:
        live.gate.call(lambda client: client.publish("hab:1:live", "no event"))
        live.gate.call(lambda client: client.xadd(stream_key("s"), {"e": "no event"}, id="0-1"))
        live.turn().emit(TEXT, 1, text="a")
        assert received(subscription)[0].data == {"text": "a"}
        assert [event.data for event in live.hub.replay("s")] == [{"text": "a"}]


def test_a_hint_reaches_the_sessions_clients(live: Live) -> None:
    with live.hub.subscribed("s") as subscription:
        live.hub.hint("other")
        live.hub.hint("s")
        assert subscription.get(20) is None
        began = time.monotonic()
        live.hub.hint("s")
        assert subscription.get(20) is None
        assert time.monotonic() - began < 10


def test_a_client_that_is_gone_gets_no_more(live: Live) -> None:
    with live.hub.subscribed("s") as gone:
        pass
    with live.hub.subscribed("s") as subscription:
        live.turn().emit(TEXT, 1, text="a")
        received(subscription)
    assert gone.get(0) is None


def test_a_client_that_does_not_read_holds_nobody_up() -> None:
    subscription = Subscription()
    for number in range(hub_module._MAX_BEHIND + 10):
        subscription.put(Event(TEXT, "s", "t", 1, number, 1, {"text": ""}))
    first = subscription.get(0)
    assert first is not None
    assert first.number == 0


def test_clients_see_events_again_after_a_restart_of_redis(
    redis_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "_RECONNECT_SECONDS", 0.05)
    monkeypatch.setattr("habakkuk.core.redis._OPEN_SECONDS", 0.05)
    live = Live(redis_server.url())
    with live.hub.subscribed("s") as subscription:
        live.turn(1).emit(TEXT, 1, text="before")
        assert received(subscription)[0].data["text"] == "before"
        redis_server.stop()
        live.turn(2).emit(TEXT, 1, text="lost")
        assert live.hub.replay("s") == []
        redis_server.start()
        events = live.turn(3)
        found: list[Event] = []

        def again() -> bool:
            events.emit(EventType.TOOL_STARTED, 1)
            found.extend(event for event in [subscription.get(0.05)] if event)
            return any(event.fence == 3 for event in found)

        until(again)
    live.close()


def test_without_redis_there_are_hints_alone() -> None:
    hub = LiveHub(None)
    with hub.subscribed("s") as subscription:
        assert hub.replay("s") == []
        hub.hint("s")
        assert subscription.get(0) is None
    hub.stop()


def test_a_redis_that_is_away_delays_nobody_and_breaks_nothing(redis_server: ValkeyServer) -> None:
    redis_server.stop()
    live = Live(redis_server.url())
    with live.hub.subscribed("s") as subscription:
        for number in range(1000):
            live.turn(number).emit(TEXT, 1, text="a")
        assert live.hub.replay("s") == []
        assert subscription.get(0) is None
    live.close()


def test_what_is_no_event_ends_nobodys_view(live: Live) -> None:
    with live.hub.subscribed("s") as subscription:
        live.gate.call(lambda client: client.publish(LIVE_CHANNEL, b"\xff\xfe"))
        # The reader begins anew after a second; what is published from then on arrives.
        turn = live.turn()
        found: list[Event] = []

        def seen() -> bool:
            turn.emit(TEXT, 1, text="x")
            found.extend(event for event in [subscription.get(0.2)] if event)
            return bool(found)

        until(seen)


def test_a_changed_queue_is_told_in_this_process_also_without_redis() -> None:
    hub = LiveHub(None)
    with hub.subscribed("s") as subscription:
        hub.queue_changed("s")
        (event,) = received(subscription)
    assert (event.type, event.session) == (EventType.QUEUE_CHANGED, "s")
