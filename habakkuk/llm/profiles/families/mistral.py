"""Mistral's models, as docs.mistral.ai lists them in late 2026."""

from __future__ import annotations

from dataclasses import replace

from habakkuk.llm.contract import Profile

_TEXT = Profile(max_tokens_field="max_tokens", context_window=128_000)
_SEES = replace(_TEXT, vision=True)
_LONG = replace(_SEES, context_window=256_000)

MODELS = (
    (r"mistral-large-4", replace(_LONG, context_window=1_000_000)),
    (r"mistral-large-(2512|3|latest)|mistral-medium-(3[.-]5|latest)|mistral-small-2603", _LONG),
    (r"ministral-(8b|14b)-2512", _LONG),
    (r"mistral-(medium-3|small-?(3\.[12]|4|25|latest))|pixtral|ministral-3b-2512", _SEES),
    (r"magistral", replace(_SEES, context_window=40_000)),
    (r"devstral-2|devstral-latest", replace(_TEXT, context_window=256_000)),
    (r"codestral", replace(_TEXT, context_window=256_000)),
    (r"ministral|devstral|mistral-(large|nemo)", _TEXT),
    (r"mistral-small", replace(_TEXT, context_window=32_768)),
    (r"mixtral-8x22b", replace(_TEXT, context_window=65_536)),
    (r"mistral-saba|mixtral|mistral(-7b|:|$)|open-mistral", replace(_TEXT, context_window=32_768)),
)
