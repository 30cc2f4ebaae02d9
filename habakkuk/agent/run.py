"""What one claim of one turn holds on to while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from habakkuk.agent.ports import TurnPorts
from habakkuk.agent.prompt import PromptPart, assemble, joined
from habakkuk.conversations.store import turns
from habakkuk.conversations.store.usage import Basket
from habakkuk.conversations.types import Turn
from habakkuk.core.config.schema import AgentConfig
from habakkuk.events.publisher import TurnEvents
from habakkuk.jobs.contract import JobContext
from habakkuk.llm.types import ModelRef
from habakkuk.tools.secrets import told


@dataclass(frozen=True)
class TurnRun:
    """The job, the turn and the ports, together.

    `model`, `effort` and `personality` are what was chosen for the session; the agent's own models
    follow.
    """

    context: JobContext
    turn: Turn
    agent: AgentConfig
    ports: TurnPorts
    events: TurnEvents
    frozen: str | None
    spent: Basket
    model: str | None = None
    effort: str | None = None
    personality: str | None = None
    # The turn, once its checkpoint was asked for.
    kept: set[str] = field(default_factory=set)

    def models(self) -> tuple[Sequence[ModelRef], str | None]:
        """Return the models to ask, first choice first, and what is to be said of them.

        Raises ConfigurationError without any.
        """
        return self.ports.models_of(self.turn.agent, self.model)

    @property
    def parts(self) -> list[PromptPart]:
        """What a prompt made now consists of."""
        has_tools = bool(self.ports.tools.of(self.agent.toolsets))
        secrets = self.ports.tool_services.secrets.of(self.turn.agent) if has_tools else {}
        return assemble(self.turn.agent, self.agent, has_tools=has_tools, secrets=told(secrets))

    @property
    def prompt(self) -> str:
        """The session's frozen prompt, else one made now."""
        return self.frozen if self.frozen is not None else joined(self.parts)

    @property
    def system(self) -> str:
        """What the model is told before everything: the prompt, and how it is to sound."""
        said = self.personality and self.ports.personalities.text(self.personality)
        return f"{self.prompt}\n\n{said}" if said else self.prompt

    @property
    def attended(self) -> bool:
        """Whether somebody can be asked while the turn runs."""
        return bool(self.turn.reply_to.get("attended"))

    def tainted(self) -> bool:
        """Whether the turn has read content from outside."""
        return turns.is_tainted(self.context.database, self.turn.id)

    @property
    def labels(self) -> dict[str, str]:
        """Who a model call is for."""
        return {
            "turn": self.turn.id,
            "session": self.turn.session_id,
            "agent": self.turn.agent,
            "user": self.turn.user_id or "",
        }
