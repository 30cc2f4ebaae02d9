"""How much one sender may send in a time: counted in Redis, open when that is away."""

from __future__ import annotations

from enum import StrEnum

from habakkuk.channels.contract import Allowance
from habakkuk.core.ids import derive
from habakkuk.core.redis import PREFIX, RedisAway, RedisGate

# A message keeps its number when it comes again: a redelivery uses nothing up, and gets the same
# answer. Beyond the first that is too much, nothing is kept.
_COUNT = """
local known = redis.call('HGET', KEYS[1], ARGV[1])
if known then return tonumber(known) end
local number = redis.call('HLEN', KEYS[1]) + 1
if number > tonumber(ARGV[2]) + 1 then return number end
redis.call('HSET', KEYS[1], ARGV[1], number)
if number == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return number
"""


class Measure(StrEnum):
    """Whether a message is within the limit, the first over it, or one of the others."""

    WITHIN = "within"
    FIRST_OVER = "first over"
    OVER = "over"


class SenderLimit:
    """The counts of all processes together."""

    def __init__(self, gate: RedisGate | None) -> None:
        """Use the process's gate; without one nothing is counted."""
        self._gate = gate

    def measure(self, account: str, sender: str, message: str, allowed: Allowance) -> Measure:
        """Count a message of a sender; the time begins with the first."""
        if self._gate is None:
            return Measure.WITHIN
        most, milliseconds = allowed.most, allowed.seconds * 1000
        key = PREFIX + derive("said", account, sender, allowed.period)
        field = derive("m", message)
        try:
            number = self._gate.call(
                lambda client: client.eval(_COUNT, 1, key, field, most, milliseconds)
            )
        except RedisAway:
            return Measure.WITHIN
        if int(number) <= most:
            return Measure.WITHIN
        return Measure.FIRST_OVER if int(number) == most + 1 else Measure.OVER
