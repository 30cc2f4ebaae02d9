"""How the server is, for whoever watches it: no token, no detail, never slow."""

from __future__ import annotations

import threading
from typing import Literal

from flask import Response
from pydantic import BaseModel

from habakkuk.bootstrap import Container
from habakkuk.core.errors import Unavailable
from habakkuk.ops.schema import schema_fault
from web.answers import json_answer

_FRESH_SECONDS = 1.0


class HealthBody(BaseModel):
    """What /healthz says. `degraded` names what is away while the server goes on."""

    status: Literal["ok", "down"]
    degraded: list[str]
    reason: str | None = None


class Health:
    """Looks at the servers at most once a second, whoever asks how often."""

    def __init__(self, container: Container) -> None:
        """Look through the parts of this process."""
        self._container = container
        self._lock = threading.Lock()
        self._schema_right = False
        self._schema_problem: str | None = None
        self._schema_until = 0.0
        self._seen: HealthBody | None = None
        self._seen_until = 0.0

    def require_schema(self) -> None:
        """Return when the database has this code's schema. Raises Unavailable until then."""
        if self._schema_right:
            return
        problem = self._problem()
        if problem is not None:
            raise Unavailable(problem, retry_after=2)

    def answer(self) -> Response:
        """Return what /healthz answers."""
        body = self._look()
        status = 200 if body.status == "ok" else 503
        return json_answer(body.model_dump(exclude_none=True), status)

    def _look(self) -> HealthBody:
        with self._lock:
            now = self._container.clock.monotonic()
            if self._seen is None or now >= self._seen_until:
                self._seen = self._ask()
                self._seen_until = self._container.clock.monotonic() + _FRESH_SECONDS
            return self._seen

    def _ask(self) -> HealthBody:
        degraded = self._container.degraded()
        if self._container.database_away():
            return HealthBody(status="down", degraded=["postgresql", *degraded])
        try:
            self.require_schema()
        except Unavailable as error:
            return HealthBody(status="ok", degraded=["schema", *degraded], reason=str(error))
        return HealthBody(status="ok", degraded=degraded)

    def _problem(self) -> str | None:
        now = self._container.clock.monotonic()
        if now >= self._schema_until:
            self._schema_problem = schema_fault(self._container.settings)
            self._schema_until = self._container.clock.monotonic() + _FRESH_SECONDS
            self._schema_right = self._schema_problem is None
        return self._schema_problem
