"""Wake-ups over lists in Redis: pushed once, popped by whoever has room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from habakkuk.core.redis import RedisGate, blocking_client
from habakkuk.jobs.slots import Ticket
from habakkuk.jobs.store.line import open_line
from habakkuk.jobs.wake import BackgroundWake
from habakkuk.jobs.wake_list import ListReader, ListSender, list_key
from tests.integration.jobs.bench import Bench, until
from tests.servers import ValkeyServer


@pytest.fixture
def wake(bench: Bench, redis_server: ValkeyServer) -> Iterator[BackgroundWake]:
    made = BackgroundWake(ListSender(RedisGate(redis_server.url())), bench.database)
    yield made
    made.stop()


def waiting(server: ValkeyServer, queue: str) -> list[str]:
    client = blocking_client(server.url())
    found = client.lrange(list_key(queue), 0, -1)
    client.close()
    return [str(job) for job in found]


class Room:
    """Slots of two queues; a queue that is full is not free, and takes nothing."""

    def __init__(self, *full: str) -> None:
        self.full = set(full)
        self.believed_free = {"turns", "deliveries"}
        self.taken: list[tuple[str, str]] = []

    def free(self) -> dict[str, int]:
        return dict.fromkeys(self.believed_free, 1)

    def offer(self, queue: str, job_id: str) -> Ticket | None:
        if queue in self.full:
            # As a runner whose last slot was taken meanwhile: from now on it says so.
            self.believed_free.discard(queue)
            return None
        self.taken.append((queue, job_id))
        return Ticket()


def reader(server: ValkeyServer, room: Room) -> ListReader:
    made = ListReader(RedisGate(server.url()), room.free, room.offer)
    made.start()
    return made


def test_each_wake_up_goes_to_one_reader_in_its_queue(
    wake: BackgroundWake, redis_server: ValkeyServer
) -> None:
    rooms = [Room(), Room()]
    readers = [reader(redis_server, room) for room in rooms]
    sent = [("turns", f"j{n}") for n in range(20)] + [("deliveries", "d")]
    for queue, job in sent:
        wake.wake(queue, job)
    until(lambda: len(rooms[0].taken) + len(rooms[1].taken) >= len(sent))
    for each in readers:
        each.stop()
    assert sorted(rooms[0].taken + rooms[1].taken) == sorted(sent)


def test_a_list_that_no_worker_pops_keeps_the_newest(
    redis_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows say what is to be done; hints of hours ago would be looked at one by one."""
    monkeypatch.setattr("habakkuk.jobs.wake_list._MOST", 3)
    sender = ListSender(RedisGate(redis_server.url()))
    for number in range(5):
        sender.send([("turns", f"j{number}")])
    assert waiting(redis_server, "turns") == ["j2", "j3", "j4"]


def test_a_full_process_leaves_it_to_another(
    wake: BackgroundWake, redis_server: ValkeyServer
) -> None:
    full, free = Room("turns"), Room()
    first = reader(redis_server, full)
    wake.wake("turns", "j1")
    until(lambda: "turns" not in full.believed_free)
    second = reader(redis_server, free)
    until(lambda: free.taken == [("turns", "j1")])
    first.stop()
    second.stop()
    assert full.taken == []


def test_readers_outlive_a_restart_of_redis(
    wake: BackgroundWake, redis_server: ValkeyServer
) -> None:
    room = Room()
    made = reader(redis_server, room)
    wake.wake("turns", "j1")
    until(lambda: room.taken == [("turns", "j1")])
    redis_server.kill()
    redis_server.start()
    until(lambda: _pushed(redis_server) and len(room.taken) > 1)
    made.stop()


def _pushed(server: ValkeyServer) -> bool:
    ListSender(RedisGate(server.url())).send([("turns", "j2")])
    return True


def test_without_redis_postgresql_carries_it(
    bench: Bench, wake: BackgroundWake, redis_server: ValkeyServer
) -> None:
    redis_server.kill()
    with open_line(bench.database, "test") as line:
        line.listen()
        wake.wake("turns", "j1")
        until(lambda: ("hab_wake", "turns j1") in line.wait(0.1))
