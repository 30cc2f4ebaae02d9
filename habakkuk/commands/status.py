"""/status: what is going on here."""

from __future__ import annotations

from habakkuk.agent.steering import store as steering
from habakkuk.commands.contract import CommandContext, Health, command
from habakkuk.conversations.store import choices, transcript, turns


@command("status", wants_health=True)
def status(context: CommandContext, _arguments: str) -> str:
    """Show the session, its model, what runs and how the server is."""
    conversation = context.conversation
    here = conversation.session_id
    found = turns.open_in(context.work, conversation.id)
    states = [turn.state for turn in found if turn.session_id == here]
    running = states.count("running")
    waiting = len(states) - running
    begun = steering.begun(context.work, conversation.id)
    paused = sum(1 for turn in begun if turn.session_id == here and turn.pause is not None)
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
