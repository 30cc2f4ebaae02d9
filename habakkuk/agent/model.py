"""One model call of a turn: the request, the live text, the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from habakkuk.agent.offered import offered
from habakkuk.agent.repair import repair
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import journal
from habakkuk.core.ids import derive
from habakkuk.events.types import EventType
from habakkuk.llm.types import (
    Block,
    Finished,
    LlmRequest,
    Message,
    ModelRef,
    TextDelta,
    ThinkingDelta,
    ToolCall,
)


class ModelStep:
    """Asks the agent's models for one answer and shows what comes."""

    def __init__(
        self, run: TurnRun, chain: Sequence[ModelRef], step: int, messages: Sequence[Message]
    ) -> None:
        """Ask `chain`; `messages` is the transcript so far, `step` is that of the answer."""
        self._chain = chain
        self._run = run
        self._step = step
        self._messages = messages
        self._shown: list[str] = []
        self._length = 0

    @property
    def shown(self) -> str:
        """The text that was shown so far."""
        return "".join(self._shown)

    def call(self) -> Finished:
        """Return the whole answer. Raises LlmError, ConfigurationError and Interrupted.

        Called again it asks again; the new text is shown after the old.
        """
        run = self._run
        run.context.failpoints.hit("model.call.before")
        finished: Finished | None = None
        for event in run.ports.models.stream(self._chain, self._request(), run.context.interrupt):
            if isinstance(event, TextDelta):
                if not self._shown:
                    run.context.failpoints.hit("model.first_text")
                self._shown.append(event.text)
                run.events.emit(EventType.TEXT, self._step, text=event.text, at=self._length)
                self._length += len(event.text)
                run.context.failpoints.hit("model.text")
            elif isinstance(event, ThinkingDelta):
                run.events.emit(EventType.THINKING, self._step, text=event.text)
            elif isinstance(event, Finished):
                finished = event
        if finished is None:
            raise AssertionError("the router ended without Finished")
        return replace(finished, blocks=self._with_own_ids(finished.blocks))

    def _request(self) -> LlmRequest:
        run = self._run
        return LlmRequest(
            system=run.system,
            messages=repair(self._messages),
            tools=offered(run),
            max_tokens=run.agent.max_output_tokens,
            effort=run.effort,
            web=run.agent.web,
            cache_key=run.turn.session_id,
            labels=run.labels,
        )

    def _with_own_ids(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        """Rename calls whose id this session has used: some services start again at call_0."""
        ids = [block.id for block in blocks if isinstance(block, ToolCall)]
        if not ids:
            return blocks
        run = self._run
        known = journal.known_ids(run.context.database, run.turn.session_id, ids)
        renamed: list[Block] = []
        for index, block in enumerate(blocks):
            if isinstance(block, ToolCall) and block.id in known:
                fresh = derive("call", run.turn.id, str(self._step), str(index))
                renamed.append(block.model_copy(update={"id": fresh}))
            else:
                renamed.append(block)
        return tuple(renamed)
