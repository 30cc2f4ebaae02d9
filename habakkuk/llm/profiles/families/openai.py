"""OpenAI's own models, as its model pages tell them in late 2026.

Its open ones (gpt-oss) run on others' servers and are in `open_models`. Models with vision also
take PDFs. The reasoning models refuse `max_tokens`. `default_max_tokens` is the most that each can
write, its thinking included. From 5.4 on, Chat Completions lets them think or call functions, not
both, and from 5.5 on they think unless they are told not to.
"""

from __future__ import annotations

from dataclasses import replace

from habakkuk.llm.contract import Profile

_LOW_TO_HIGH = ("low", "medium", "high")
_LOW_TO_XHIGH = (*_LOW_TO_HIGH, "xhigh")
_LOW_TO_MAX = (*_LOW_TO_XHIGH, "max")

_6 = Profile(
    default_max_tokens=128_000,
    context_window=1_050_000,
    efforts=_LOW_TO_MAX,
    vision=True,
    documents=True,
    hosted_web=True,
    chat_tools_unthinking=True,
)
_5_6 = replace(_6, efforts=("none", *_LOW_TO_MAX))
_5_4 = replace(_6, efforts=("none", *_LOW_TO_XHIGH))
_5_5 = replace(_5_4, context_window=1_000_000)
_5_4_SMALL = replace(_5_4, context_window=400_000)
_5_2 = replace(_5_4, context_window=400_000, chat_tools_unthinking=False)
_5_1 = replace(_5_2, efforts=("none", *_LOW_TO_HIGH))
_5 = replace(_5_2, efforts=("minimal", *_LOW_TO_HIGH))
_CODEX = replace(_5_2, efforts=_LOW_TO_XHIGH)
_PRO = replace(_5_2, efforts=("medium", "high", "xhigh"))
_CHAT = replace(_5_2, efforts=(), context_window=128_000, default_max_tokens=16_384)
_O3 = replace(_5_2, efforts=_LOW_TO_HIGH, context_window=200_000, default_max_tokens=100_000)
_O3_MINI = replace(_O3, vision=False, documents=False, hosted_web=False)
# The preview writes half as much as the small one.
_O1_MINI = replace(_O3_MINI, efforts=(), context_window=128_000, default_max_tokens=32_768)
_4O = Profile(
    max_tokens_field="max_tokens",
    default_max_tokens=16_384,
    context_window=128_000,
    vision=True,
    documents=True,
    hosted_web=True,
)
_NEWER = replace(_5_2, efforts=_LOW_TO_HIGH, chat_tools_unthinking=True)
_4_1 = replace(_4O, context_window=1_000_000, default_max_tokens=32_768)
_4_TURBO = replace(_4O, documents=False, hosted_web=False, default_max_tokens=4_096)
_TEXT = Profile(max_tokens_field="max_tokens", context_window=8192, default_max_tokens=4_096)

MODELS = (
    # The names without a version follow the newest model.
    (r"gpt-(6|astra|sol|terra|luna|latest)(?!\d)", _6),
    (r"gpt-5\.6(?!\d)", _5_6),
    (r"gpt-5\.[0-9]+-chat|gpt-5-chat|gpt-chat|chatgpt|gpt-5\.3(?!-codex|\d)", _CHAT),
    (r"gpt-5\.5-pro", replace(_PRO, context_window=1_000_000)),
    (r"gpt-5\.5(?!\d)", _5_5),
    (r"gpt-5\.4-pro", replace(_PRO, context_window=1_050_000)),
    (r"gpt-5\.4-(mini|nano)", _5_4_SMALL),
    (r"gpt-5\.4-image", replace(_5_4, context_window=272_000)),
    (r"gpt-5\.4(?!\d)", _5_4),
    (r"gpt-5\.(2|3)-codex|gpt-5\.1-codex-max", _CODEX),
    (r"gpt-5\.2-pro", _PRO),
    (r"gpt-5\.2(?!\d)", _5_2),
    (r"gpt-5(\.1)?-codex", replace(_CODEX, efforts=_LOW_TO_HIGH)),
    (r"gpt-5\.1(?!\d)", _5_1),
    (r"gpt-5-pro", replace(_PRO, efforts=("high",))),
    (r"gpt-5(-|$|:)", _5),
    (r"gpt-mini-latest", _5_4_SMALL),
    (r"o1-(mini|preview)", _O1_MINI),
    (r"o3-mini", _O3_MINI),
    (r"o[134](?!\w)|codex-mini", _O3),
    # What is newer than this table: as its kind, with the levels that all of them take.
    (r"gpt-([7-9]|5\.|\d\d)", _NEWER),
    (r"o\d", _O3_MINI),
    (r"gpt-4\.1-nano", replace(_4_1, hosted_web=False)),
    (r"gpt-4\.1", _4_1),
    (r"gpt-4o-(audio|realtime|mini-audio|mini-realtime)", replace(_TEXT, context_window=16_000)),
    (r"gpt-4o-(mini-)?search", replace(_4O, tools=False, documents=False)),
    (r"gpt-4o", _4O),
    (r"gpt-4-(turbo|vision|1106|0125)", _4_TURBO),
    (r"gpt-4-32k", replace(_TEXT, context_window=32_000)),
    (r"gpt-4(-0|$|:)", _TEXT),
    (r"gpt-3\.5-turbo-instruct", replace(_TEXT, context_window=4095, tools=False)),
    (r"gpt-3\.5", replace(_TEXT, context_window=16_385)),
)
