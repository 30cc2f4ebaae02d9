"""Gemini, as Google documents it in late 2026 (ai.google.dev, models and thinking).

A model of 2.5 is given a budget of thinking tokens, one of 3 and later a level; no request may
hold both. `default_max_tokens` is the most that each can write, its thinking included.
"""

from __future__ import annotations

from dataclasses import replace

from habakkuk.llm.contract import Profile

_LEVELS = ("low", "medium", "high")

_3 = Profile(
    max_tokens_field="max_tokens",
    default_max_tokens=65_536,
    context_window=1_000_000,
    thinking="level",
    efforts=_LEVELS,
    vision=True,
    documents=True,
    hosted_web=True,
)
_3_FLASH = replace(_3, efforts=("minimal", *_LEVELS))
_3_PRO = replace(_3, efforts=("low", "high"))
# Pro always thinks; the others can be told not to.
_2_5_PRO = replace(_3, thinking="budget")
_2_5 = replace(_2_5_PRO, efforts=("none", *_LEVELS))
_OLDER = replace(_3, thinking=None, efforts=(), hosted_web=False, default_max_tokens=8_192)
_1_0 = replace(_OLDER, context_window=32_768, tools=False, documents=False)
_IMAGES = replace(_OLDER, tools=False, documents=False, context_window=32_768)
_SPOKEN = replace(_IMAGES, vision=False, context_window=8192)

MODELS = (
    (r"gemini-.*(-tts|-live|-audio|embedding|-robotics|-omni)|gemini-(omni|live|embed)", _SPOKEN),
    (r"gemini-.*(-image|nano-banana)", _IMAGES),
    (r"gemini-2\.5-pro", _2_5_PRO),
    (r"gemini-2\.5", _2_5),
    (r"gemini-2", _OLDER),
    (r"gemini-(flash-|pro-)?1\.5", _OLDER),
    (r"gemini-(1\.0|pro$|pro-vision)", _1_0),
    (r"gemini-3-pro", _3_PRO),
    (r"gemini-3\.1-pro", _3),
    (r"gemini-(3-flash|3\.[1-6]-flash)", _3_FLASH),
    # From 3.7 on the least level is low; what is newer is taken to be so too.
    (r"gemini-([3-9]|\d\d)|gemini-(flash|pro|flash-lite)-latest", _3),
)
