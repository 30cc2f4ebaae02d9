"""Facts about models, found by the model's name."""

from __future__ import annotations

import re
from dataclasses import replace

from habakkuk.llm.contract import Profile
from habakkuk.llm.types import ModelRef

LOCAL_PROVIDER = "local"
LOCAL_MODEL = "smollm2-135m-instruct"

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
# Claude models as Anthropic documents them in late 2026: from 4.6 on they decide themselves how
# much to think; 4.5 takes a budget of tokens at most, which is not asked for.
_CLAUDE_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_CLAUDE_5 = Profile(
    max_tokens_field="max_tokens",
    default_max_tokens=32_000,
    context_window=1_000_000,
    thinking="adaptive",
    efforts=_CLAUDE_EFFORTS,
)
_CLAUDE_4 = replace(_CLAUDE_5, context_window=200_000)
_CLAUDE_4_5 = replace(_CLAUDE_4, thinking=None, efforts=())
# What the present ones take; older ones take fewer, and none of these refuses the middle.
_GPT_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_OTHERS = Profile(max_tokens_field="max_tokens")
# The first pattern that matches the end of the name after its last slash wins.
_PROFILES: tuple[tuple[re.Pattern[str], Profile], ...] = (
    (re.compile(r"smollm2-(135m|360m)"), _TOY),
    # OpenAI's own models refuse max_tokens; its open ones (gpt-oss) run on others' servers.
    (re.compile(r"claude-(fable|mythos|opus|sonnet|haiku)-5"), _CLAUDE_5),
    (re.compile(r"claude-((opus|sonnet)-4-[678]|mythos-preview)"), _CLAUDE_4),
    (re.compile(r"claude-opus-4-5"), replace(_CLAUDE_4_5, efforts=_CLAUDE_EFFORTS)),
    (re.compile(r"claude-(opus|sonnet|haiku)-4"), _CLAUDE_4_5),
    (re.compile(r"gpt-(?!oss|4|3)|o\d|chatgpt"), Profile(efforts=_GPT_EFFORTS)),
)


def profile_for(ref: ModelRef) -> Profile:
    """Return what is known of a model; what most servers take when nothing is."""
    name = ref.model.lower().rpartition("/")[2]
    return next((profile for pattern, profile in _PROFILES if pattern.match(name)), _OTHERS)
