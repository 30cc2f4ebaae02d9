"""The lock of a serial key as Redis shows it: a fast gate and a sign for people, never a guarantee.

Everything here happens behind the work, in one thread: a lock that is late, missing, stale or out
of reach blocks nothing. PostgreSQL's unique index is what allows one running job a key.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import Any, Literal

from redis import Redis
from redis.client import Pipeline

from habakkuk.core.log import get_logger
from habakkuk.core.redis import PREFIX, RedisAway, RedisGate

_log = get_logger("jobs.lock")
TTL_MS = 30_000
_PENDING = 4096
# A job shorter than this never shows in Redis, and costs nothing there.
_GATHER_SECONDS = 0.1

# A newer fence replaces an older one; the holder may repeat itself. 1 when it is mine now.
ACQUIRE = """
local v = redis.call('GET', KEYS[1])
if v then
  local f = tonumber(string.match(v, '^(%d+):'))
  if f and f >= tonumber(ARGV[1]) and v ~= ARGV[1] .. ':' .. ARGV[2] then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'PX', ARGV[3])
return 1
"""
RELEASE = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
)
RENEW = (
    "if redis.call('GET', KEYS[1]) == ARGV[1]"
    " then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
)


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: the fence of the claim and the number of the owner's presence lock."""

    fence: int
    owner_lock: int

    @property
    def value(self) -> str:
        """The lock's whole value."""
        return f"{self.fence}:{self.owner_lock}"


@dataclass(frozen=True)
class _Change:
    act: Literal["acquire", "renew", "release"]
    key: str
    holder: Holder


def lock_key(serial_key: str) -> str:
    """Return the Redis key of a serial key's lock."""
    return f"{PREFIX}lock:{serial_key}"


def read_holder(value: str | None) -> Holder | None:
    """Parse a lock's value; None when there is none or it is not one of ours."""
    fence, _, owner = (value or "").partition(":")
    if not (fence.isascii() and fence.isdigit() and owner.isascii() and owner.isdigit()):
        return None
    return Holder(int(fence), int(owner))


class LockKeeper:
    """Sets, renews and deletes the locks of this process, from one thread, in batches."""

    def __init__(self, redis: RedisGate, owner_lock: int) -> None:
        """Prepare; nothing is sent before `start`."""
        self._redis = redis
        self._owner_lock = owner_lock
        self._changes: Queue[_Change | None] = Queue(_PENDING)
        self._thread = threading.Thread(target=self._work, name="redis-locks", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Send what is left and end the thread."""
        if self._thread.is_alive():
            self._changes.put(None)
            self._thread.join(2.0)

    def acquire(self, serial_key: str, fence: int) -> None:
        """Set the lock for a claim that happened. Returns at once."""
        self._add(_Change("acquire", serial_key, Holder(fence, self._owner_lock)))

    def renew(self, held: Iterable[tuple[str, int]]) -> None:
        """Prolong the locks of these (serial key, fence)."""
        for serial_key, fence in held:
            self._add(_Change("renew", serial_key, Holder(fence, self._owner_lock)))

    def release(self, serial_key: str, fence: int, owner_lock: int | None = None) -> None:
        """Delete the lock of this claim, of a dead owner's when it is named."""
        owner = self._owner_lock if owner_lock is None else owner_lock
        self._add(_Change("release", serial_key, Holder(fence, owner)))

    def holders(self, serial_keys: Sequence[str]) -> dict[str, Holder]:
        """Return who holds these locks, in one round trip; nothing when Redis is away."""
        if not serial_keys:
            return {}
        try:
            values: Any = self._redis.call(
                lambda client: client.mget([lock_key(key) for key in serial_keys])
            )
        except RedisAway:
            return {}
        found = {key: read_holder(value) for key, value in zip(serial_keys, values, strict=True)}
        return {key: holder for key, holder in found.items() if holder is not None}

    def _add(self, change: _Change) -> None:
        if self._redis.away:
            return
        try:
            self._changes.put_nowait(change)
        except Full:
            _log.warning("a lock is not shown: too many changes wait")

    def _work(self) -> None:
        while True:
            batch, last = self._take()
            changes = _without_pairs(batch)
            if changes:
                self._send(changes)
            if last:
                return

    def _take(self) -> tuple[list[_Change], bool]:
        """Return everything that waits, at least one, and whether the end was among it."""
        batch: list[_Change] = []
        change = self._changes.get()
        time.sleep(_GATHER_SECONDS)
        while change is not None:
            batch.append(change)
            try:
                change = self._changes.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _send(self, changes: list[_Change]) -> None:
        def act(client: Redis) -> None:
            with client.pipeline(transaction=False) as pipe:
                for change in changes:
                    _queue(pipe, change)
                pipe.execute()

        try:
            self._redis.call(act)
        except RedisAway:
            _log.info("locks are not shown: Redis is away", changes=len(changes))
        except Exception:  # noqa: BLE001 - the top of a thread that must go on
            _log.exception("locks could not be written")


def _without_pairs(batch: list[_Change]) -> list[_Change]:
    """Leave out what was acquired and released before anybody could see it."""
    released = {(c.key, c.holder) for c in batch if c.act == "release"}
    acquired = {(c.key, c.holder) for c in batch if c.act == "acquire"}
    both = released & acquired
    return [change for change in batch if (change.key, change.holder) not in both]


def _queue(pipe: Pipeline, change: _Change) -> None:
    key, holder = lock_key(change.key), change.holder
    if change.act == "acquire":
        pipe.eval(ACQUIRE, 1, key, str(holder.fence), str(holder.owner_lock), str(TTL_MS))
    elif change.act == "renew":
        pipe.eval(RENEW, 1, key, holder.value, str(TTL_MS))
    else:
        pipe.eval(RELEASE, 1, key, holder.value)
