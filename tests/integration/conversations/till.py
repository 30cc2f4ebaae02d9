"""One process that spends, for the tests of caps: its prices, ledger and caps on one database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from habakkuk.conversations.budgets import Budgets
from habakkuk.conversations.spend import SpendCaps
from habakkuk.conversations.store.usage import UsageLedger
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import Config
from habakkuk.core.interrupt import Interrupt
from habakkuk.db.engine import Database
from habakkuk.llm.contract import Admission, CallRecord, Endpoint
from habakkuk.llm.prices import Prices
from habakkuk.llm.types import LlmRequest, Message, ModelRef, Role, Text, Usage

MODEL = ModelRef("mine", "m")
# A million tokens of output cost a dollar, input nothing: 1,000,000 tokens are a call's worth.
DOLLAR = Usage(0, 1_000_000)
LABELS = {"turn": "t", "session": "s", "user": "u-alice", "agent": "habakkuk"}
ASKED = LlmRequest(
    "", (Message(Role.USER, (Text(text="hello"),)),), max_tokens=1_000_000, labels=LABELS
)
PRICE = {"mine/m": {"input": 0, "output": 1}}
HELD = text("SELECT count(*) FROM spend_holds")
LEDGER = text("SELECT id, outcome, output, cost FROM usage ORDER BY at")
SPENT = text("SELECT sum(cost) FROM usage")


class Late(Clock):
    """A clock that a test moves."""

    def __init__(self, now: datetime | None = None) -> None:
        self.time = now
        self.passed = 0.0

    def now(self) -> datetime:
        return self.time or super().now()

    def monotonic(self) -> float:
        return super().monotonic() + self.passed


class Till:
    """One process that spends: caps, prices and ledger on one database."""

    def __init__(self, database: Database, **config: Any) -> None:
        self.database = database
        self.config = Config.model_validate({"pricing": PRICE} | config)
        endpoints: Mapping[str, Endpoint] = {"mine": Endpoint("mine", "http://127.0.0.1:1/v1", "k")}
        self.clock = Late()
        self.prices = Prices(self.config, endpoints)
        self.ledger = UsageLedger(database, self.prices)
        self.caps = SpendCaps(
            database, self.config, self.prices, self.ledger, self.clock, endpoints
        )
        self.budgets = Budgets(database, self.config, self.clock)

    def admit(self, request: LlmRequest = ASKED, interrupt: Interrupt | None = None) -> Admission:
        return self.caps.admit(MODEL, request, interrupt or Interrupt())

    def record(self, admission: Admission, usage: Usage | None = DOLLAR, **fields: Any) -> None:
        call = CallRecord(MODEL, LABELS, "answered", usage, hold=admission.hold)
        self.ledger.record(replace(call, **fields))

    def spend(self, request: LlmRequest = ASKED) -> Admission:
        admission = self.admit(request)
        self.record(admission)
        return admission

    def held(self) -> int:
        return int(self.database.run(HELD)[0][0])

    def spent(self) -> Decimal:
        return Decimal(self.database.run(SPENT)[0][0] or 0)


def of(**labels: str) -> LlmRequest:
    return replace(ASKED, labels=LABELS | labels)
