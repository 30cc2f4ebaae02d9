"""What one claim of one turn holds on to while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from habakkuk.agent.ports import TurnPorts
from habakkuk.conversations.types import Turn
from habakkuk.core.config.schema import AgentConfig
from habakkuk.events.publisher import TurnEvents
from habakkuk.jobs.contract import JobContext


@dataclass(frozen=True)
class TurnRun:
    """The job, the turn and the ports, together."""

    context: JobContext
    turn: Turn
    agent: AgentConfig
    ports: TurnPorts
    events: TurnEvents

    @property
    def labels(self) -> dict[str, str]:
        """Who a model call is for."""
        return {
            "turn": self.turn.id,
            "session": self.turn.session_id,
            "agent": self.turn.agent,
            "user": self.turn.user_id or "",
        }
