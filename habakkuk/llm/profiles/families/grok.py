"""Grok, as xAI documents it in late 2026 (docs.x.ai, models).

It names no most that a model can write; those that reason are given room for that.
"""

from __future__ import annotations

from dataclasses import replace

from habakkuk.llm.contract import Profile

_4_7 = Profile(
    max_tokens_field="max_tokens",
    default_max_tokens=32_000,
    context_window=500_000,
    efforts=("low", "medium", "high", "xhigh"),
    vision=True,
)
_4_5 = replace(_4_7, efforts=("low", "medium", "high"))
# They reason or not by their name, and refuse to be told how hard.
_4_FAST = replace(_4_7, efforts=(), context_window=2_000_000)
_4 = replace(_4_FAST, context_window=256_000)
_4_MIDDLE = replace(_4_FAST, context_window=1_000_000)
_3 = Profile(max_tokens_field="max_tokens", context_window=131_072)

MODELS = (
    (r"grok-(4\.7|latest)", _4_7),
    (r"grok-4\.[56](?!\d)", _4_5),
    (r"grok-4[.-](20|3)(?!\d)", _4_MIDDLE),
    (r"grok-4([.-]1)?-fast", _4_FAST),
    (r"grok-(4(-0709)?$|build)", _4),
    (r"grok-code", replace(_4, vision=False)),
    (r"grok-3-mini", replace(_3, efforts=("low", "high"))),
    (r"grok-3", _3),
    (r"grok-2-vision", replace(_3, context_window=32_768, vision=True)),
    (r"grok-2", replace(_3, context_window=32_768)),
    (r"grok-([5-9]|4\.)", replace(_4_5, efforts=(), context_window=256_000)),
)
