"""One server in miniature: a real container and Runner in this process, a fake model over HTTP."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import text

from habakkuk.accounts.types import Principal, Scope
from habakkuk.bootstrap import Container, build
from habakkuk.conversations.types import Address, ChatMessage, Turn
from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import load_settings
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.gateway.types import Admitted, Inbound
from habakkuk.jobs.host import Host, Identity
from tests.fakes.model_server import ModelServer

_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.005, 0.05
CONFIG = """
providers:
  mine: {{type: openai, base_url: "{base_url}", api_key_env: MINE_KEY, {limits}}}
{providers}
agents:
  habakkuk: {{model: mine/fake-model, max_steps: 8, permissions: full}}
  careful: {{model: mine/fake-model}}
  reader: {{model: mine/fake-model, permissions: read-only}}
  other: {{model: mine/other-model}}
{more}
"""


class _Offer:
    """Wakes the worker of this process directly."""

    def __init__(self) -> None:
        self.host: Host | None = None

    def wake(self, queue: str, job_id: str) -> None:
        if self.host is not None:
            self.host.offer(str(queue), job_id)

    def stop(self) -> None:
        pass


class Points(Failpoints):
    """Points at which a run ends as if its process had died: the row stays as it is.

    `due` says at which passing of which point, counted from 1. With `act` that is done there
    instead, and the run goes on.
    """

    def __init__(
        self, due: Mapping[str, int] | None = None, act: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        self.due = due or {}
        self.act = act
        self.passed: list[str] = []

    def hit(self, name: str) -> None:
        self.passed.append(name)
        if self.passed.count(name) == self.due.get(name):
            if self.act is None:
                raise Interrupted(Reason.LEASE_LOST)
            self.act()


class Stack:
    """Build one with a home, two URLs and a model server; `start` runs turns."""

    def __init__(
        self,
        home: Path,
        database_url: str,
        redis_url: str,
        model: ModelServer,
        more: str = "",
        providers: str = "",
        limits: str = "stall_timeout: 20s",
    ) -> None:
        """`more`, `providers`: lines of config.yaml; `limits` stand in the provider `mine`."""
        written = CONFIG.format(
            base_url=model.base_url, more=more, providers=providers, limits=limits
        )
        (home / "config.yaml").write_text(written)
        environment = read_environment(
            dict(os.environ)
            | {
                "HABAKKUK_HOME": str(home),
                "DATABASE_URL": database_url,
                "REDIS_URL": redis_url,
                "MINE_KEY": "key-of-the-fake-service",
                "HABAKKUK_TEST_TOOLS": "tests.fakes.toolset",
            }
        )
        self.home = home
        self.model = model
        self._offer = _Offer()
        self.container: Container = build(load_settings(environment), name="test", wake=self._offer)
        self.owner = self.container.accounts.owner()
        self.principal = Principal(self.owner, frozenset(Scope))

    def start(self, points: Points | None = None, turns: int = 8) -> Host:
        """Run turns in this process, as one worker."""
        source = replace(self.container, failpoints=points) if points else self.container
        host = Host(source, Identity("test", "worker", "0"), {"turns": turns, "deliveries": 4})
        # Known before it is open: one that never opens must not go on after its test.
        self._offer.host = host
        host.start()
        until(lambda: host.opened, 60)
        return host

    def stop(self) -> None:
        """Let running turns go, as a worker that ends does."""
        host, self._offer.host = self._offer.host, None
        if host is not None:
            assert host.stop(10)

    def take_over(self, admitted: Admitted) -> None:
        """Free a turn whose run ended at one of the Points, as a sweep does; no worker runs."""
        self.container.database.run(
            text(
                "UPDATE jobs SET state = 'pending', crashes = crashes + 1, owner = NULL,"
                " owner_lock = NULL, lease_until = NULL WHERE id = :id AND state = 'running'"
            ),
            id=admitted.turn_id,
        )

    def free_all(self) -> None:
        """Free every job whose run ended at one of the Points, as a sweep does."""
        self.container.database.run(
            text(
                "UPDATE jobs SET state = 'pending', crashes = crashes + 1, owner = NULL,"
                " owner_lock = NULL, lease_until = NULL WHERE state = 'running'"
            )
        )

    def journal(self, admitted: Admitted) -> dict[str, tuple[str, str]]:
        """Return (state, result's text) of the session's calls, by the tool's name."""
        rows = self.container.database.run(
            text("SELECT name, state, result FROM tool_calls WHERE session_id = :id"),
            id=admitted.session_id,
        )
        return {row.name: (row.state, (row.result or {}).get("text", "")) for row in rows}

    def read_questions(self) -> None:
        """Let time pass in which a person reads what is asked."""
        self.container.database.run(
            text("UPDATE waits SET created = created - interval '1 minute'")
        )

    def close(self) -> None:
        self.stop()
        self.container.close()

    def say(self, body: str, chat: str = "c", **fields: Any) -> Admitted:
        """Admit a message of the owner."""
        inbound = Inbound(Address("web", "web", chat), self.owner, body, "api", **fields)
        return self.container.gateway.admit(inbound)

    def turn(self, turn_id: str | None) -> Turn:
        assert turn_id is not None
        return self.container.conversations.turn(self.principal, turn_id)

    def ended(self, admitted: Admitted, seconds: float = 60.0) -> Turn:
        """Wait for a turn's end and return it."""
        until(lambda: self.turn(admitted.turn_id).ended is not None, seconds)
        return self.turn(admitted.turn_id)

    def reply(self, admitted: Admitted) -> ChatMessage:
        """Wait for a turn's end and return what the user sees."""
        found = self.container.conversations.reply(self.ended(admitted))
        assert found is not None
        return found

    def rows(self, admitted: Admitted) -> list[ChatMessage]:
        return list(self.container.conversations.after(admitted.conversation_id, 0))

    def transcript(self, admitted: Admitted) -> list[tuple[str, list[str]]]:
        """Return (role, block types) of the session, in order."""
        stored = self.container.conversations.transcript(self.principal, admitted.session_id)
        return [
            (str(item.message.role), [block.type for block in item.message.blocks])
            for item in stored
        ]

    def trace(self, name: str, agent: str = "habakkuk") -> list[str]:
        """Return the lines of a file that a tool wrote in the workspace."""
        path = self.home / "agents" / agent / "workspace" / name
        return path.read_text().splitlines() if path.exists() else []


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for a condition; fails loudly when it does not come."""
    end = time.monotonic() + seconds
    pause = _FIRST_LOOK_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("the awaited condition did not come about")
        time.sleep(pause)
        # Most look into the database: whoever waits long would keep a processor busy with it.
        pause = min(pause * 1.3, _LOOK_SECONDS)
