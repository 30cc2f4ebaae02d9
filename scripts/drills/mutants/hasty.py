"""A gateway that acknowledges, or wakes, before it commits."""

from __future__ import annotations

import threading
import time

from habakkuk.gateway.rows import conversation_id, turn_id
from habakkuk.gateway.service import Gateway
from habakkuk.gateway.types import Admitted, Inbound
from habakkuk.jobs.service import Jobs
from habakkuk.jobs.types import Queue

_LATER_SECONDS = 0.1


def answer_before_commit() -> None:
    """Let `admit` return at once and do its work in the background."""
    admit = Gateway.admit

    def hasty(self: Gateway, inbound: Inbound) -> Admitted:
        threading.Timer(_LATER_SECONDS, admit, (self, inbound)).start()
        return Admitted(conversation_id(inbound.address), "unknown", 0, turn_id(inbound))

    Gateway.admit = hasty  # type: ignore[method-assign]  # a mutant, in its own process


def wake_before_commit() -> None:
    """Wake the workers first, and let the commit come a little later."""
    admit, announce = Gateway.admit, Jobs.announce

    def hasty(self: Gateway, inbound: Inbound) -> Admitted:
        announce(self._jobs, Queue.TURNS, turn_id(inbound))
        time.sleep(_LATER_SECONDS)
        return admit(self, inbound)

    def silent(self: Jobs, queue: str, job_id: str) -> None:
        del self, queue, job_id

    Gateway.admit = hasty  # type: ignore[method-assign]  # a mutant, in its own process
    Jobs.announce = silent  # type: ignore[method-assign]  # as above
