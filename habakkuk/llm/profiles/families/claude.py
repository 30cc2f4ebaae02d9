"""Claude, as Anthropic documents it in late 2026 (platform.claude.com, models overview).

From 4.6 on the models decide themselves how much to think; 4.5 and older take a budget of tokens
at most, which is not asked for.
"""

from __future__ import annotations

from dataclasses import replace

from habakkuk.llm.contract import Profile

_5 = Profile(
    max_tokens_field="max_tokens",
    default_max_tokens=32_000,
    context_window=1_000_000,
    thinking="adaptive",
    efforts=("low", "medium", "high", "xhigh", "max"),
    vision=True,
    documents=True,
    hosted_web=True,
)
_4_6 = replace(_5, efforts=("low", "medium", "high", "max"))
# Its own search is of a version that these do not take.
_4 = replace(_5, thinking=None, efforts=(), context_window=200_000, hosted_web=False)
_OPUS_4_5 = replace(_4, efforts=("low", "medium", "high"))
_3_5 = replace(_4, default_max_tokens=8192)
_3 = replace(_4, default_max_tokens=4096, documents=False)

MODELS = (
    (r"claude-(fable|mythos|opus|sonnet|haiku)-(5|latest)", _5),
    (r"claude-(opus-4[.-][78]|mythos-preview)", _5),
    (r"claude-(opus|sonnet)-4[.-]6", _4_6),
    (r"claude-opus-4[.-]5", _OPUS_4_5),
    (r"claude-((opus|sonnet|haiku)-4|4-(opus|sonnet)|3[.-]7)", _4),
    (r"claude-3[.-]5", _3_5),
    (r"claude-3-(opus|sonnet|haiku)", _3),
)
