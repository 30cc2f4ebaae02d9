"""The hooks around tool calls: asked before, told after."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from habakkuk.agent.run import TurnRun
from habakkuk.agent.turn_hooks import of_turn
from habakkuk.hooks.types import Happening, HookEvent
from habakkuk.llm.types import ToolCall, ToolResult

_AT_ONCE = 4


def objections(run: TurnRun, calls: Sequence[ToolCall]) -> dict[str, str]:
    """Return why hooks forbid calls, by the call's id. Raises Interrupted with the turn."""
    if not calls or not run.ports.hooks.hear(HookEvent.TOOL_BEFORE):
        return {}
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        said = list(pool.map(partial(_objection, run), calls))
    return {call.id: text for call, text in zip(calls, said, strict=True) if text is not None}


def finished(run: TurnRun, call: ToolCall, result: ToolResult) -> None:
    """Tell the hooks of a result that was recorded."""
    if run.ports.hooks.hear(HookEvent.TOOL_AFTER):
        data = _of_call(run, call) | {"error": result.is_error, "result": result.text}
        run.ports.hooks.tell(Happening(HookEvent.TOOL_AFTER, call.name, data))


def _objection(run: TurnRun, call: ToolCall) -> str | None:
    happening = Happening(HookEvent.TOOL_BEFORE, call.name, _of_call(run, call))
    found = run.ports.hooks.ask(happening, run.context.interrupt)
    return None if found is None else f"{call.name} was not run: a hook forbids it: {found.reason}"


def _of_call(run: TurnRun, call: ToolCall) -> dict[str, object]:
    return of_turn(run) | {"call": call.id, "tool": call.name, "input": call.input}
