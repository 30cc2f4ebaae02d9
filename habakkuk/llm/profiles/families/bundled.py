"""The models that are small enough to come along."""

from __future__ import annotations

from habakkuk.llm.contract import Profile

_TOY = Profile(
    tools=False,
    # Without the note of the time it answers at random.
    notes=True,
    simple_prompt="You are Habakkuk, a helpful assistant. Answer in one or two short sentences.",
    temperature=0.2,
    max_tokens=200,
    context_window=8192,
    max_tokens_field="max_tokens",
)

MODELS = ((r"smollm2-(135m|360m)", _TOY),)
