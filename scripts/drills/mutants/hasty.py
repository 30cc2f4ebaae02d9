"""A gateway that acknowledges before it commits."""

from __future__ import annotations

import threading

from habakkuk.core.ids import derive
from habakkuk.gateway.service import Gateway, _turn_id
from habakkuk.gateway.types import Admitted, Inbound

_LATER_SECONDS = 0.1


def answer_before_commit() -> None:
    """Let `admit` return at once and do its work in the background."""
    admit = Gateway.admit

    def hasty(self: Gateway, inbound: Inbound) -> Admitted:
        threading.Timer(_LATER_SECONDS, admit, (self, inbound)).start()
        address = inbound.address
        parts = (address.channel, address.account, address.chat, address.thread)
        return Admitted(derive("conv", *parts), "unknown", 0, _turn_id(inbound))

    Gateway.admit = hasty  # type: ignore[method-assign]  # a mutant, in its own process
