"""/status: what is going on here."""

from __future__ import annotations

from habakkuk.agent.steering import store as steering
from habakkuk.commands.contract import CommandContext, Health, command
from habakkuk.conversations.store import choices, transcript, turns


@command("status", wants_health=True)
def status(context: CommandContext, _arguments: str) -> str:
    """Show the session, its model, what runs and how the server is."""
    conversation = context.conversation
    open_turns = turns.open_turns_in(context.work, conversation.session_id)
    running = sum(1 for _, state in open_turns if state == "running")
    waiting = len(open_turns) - running
    begun = steering.begun(context.work, conversation.id, conversation.session_id)
    paused = sum(1 for turn in begun if turn.pause is not None)
    messages = transcript.count(context.work, conversation.session_id)
    model, effort = choices.get(context.work, conversation.session_id)
    lines = [
        f"Agent: {conversation.agent}",
        *([f"Model of this session: {model}"] if model else []),
        *([f"Effort: {effort}"] if effort else []),
        f"Session: {conversation.session_id} ({messages} messages)",
        f"Turns: {running} running, {waiting} waiting" + (f", {paused} paused" if paused else ""),
    ]
    if context.health is not None:
        lines += _server(context.health)
    return "\n".join(lines)


def _server(health: Health) -> list[str]:
    lines = [f"Model: {health.model}", f"Workers: {health.workers} alive"]
    if health.degraded:
        lines.append(f"Away: {', '.join(health.degraded)} (answers come late and unstreamed)")
    return lines
