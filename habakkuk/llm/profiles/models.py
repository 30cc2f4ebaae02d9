"""Facts about models, found by the model's name."""

from __future__ import annotations

import re

from habakkuk.llm.contract import Profile
from habakkuk.llm.types import ModelRef

LOCAL_PROVIDER = "local"
LOCAL_MODEL = "smollm2-135m-instruct"

_TOY = Profile(
    tools=False,
    simple_prompt="You are Habakkuk, a helpful assistant. Answer in one or two short sentences.",
    temperature=0.2,
    max_tokens=200,
    context_window=8192,
    max_tokens_field="max_tokens",
)
_OTHERS = Profile(max_tokens_field="max_tokens")
# The first pattern that matches the end of the name after its last slash wins.
_PROFILES: tuple[tuple[re.Pattern[str], Profile], ...] = (
    (re.compile(r"smollm2-(135m|360m)"), _TOY),
    # OpenAI's own models refuse max_tokens; its open ones (gpt-oss) run on others' servers.
    (re.compile(r"gpt-(?!oss|4|3)|o\d|chatgpt"), Profile()),
)


def profile_for(ref: ModelRef) -> Profile:
    """Return what is known of a model; what most servers take when nothing is."""
    name = ref.model.lower().rpartition("/")[2]
    return next((profile for pattern, profile in _PROFILES if pattern.match(name)), _OTHERS)
