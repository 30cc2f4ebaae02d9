"""Open models and those of labs without a format of their own, wherever they are served.

Windows are what their makers state, the lesser where hosts differ; a server may be started with
less. Who serves one decides which levels of effort it takes: only gpt-oss has any that all take.
"""

from __future__ import annotations

from dataclasses import replace

from habakkuk.llm.contract import Profile

_TEXT = Profile(max_tokens_field="max_tokens", context_window=131_072)
_SEES = replace(_TEXT, vision=True)
_256K = replace(_TEXT, context_window=262_144)
_1M = replace(_TEXT, context_window=1_000_000)
_SEES_256K = replace(_256K, vision=True)
_SEES_1M = replace(_1M, vision=True)
_8K = replace(_TEXT, context_window=8192)
_32K = replace(_TEXT, context_window=32_768)
_64K = replace(_TEXT, context_window=64_000)

_QWEN = (
    (r"qwen3\.5-omni|qwen3-omni|qwen2[.-]5-omni", replace(_SEES, context_window=32_768)),
    (r"qwen3-vl", _SEES),
    (r"qwen-?2[.-]5-?vl|qwen-vl|qwen2-vl|qwen-2-vl", replace(_SEES, context_window=32_768)),
    (r"qwen3\.[5-8]-(plus|flash|omni-flash)", replace(_SEES_256K, context_window=1_000_000)),
    (r"qwen3\.[6-8]-max", _256K),
    (r"qwen-?3\.8-27b", _SEES),
    (r"qwen-?3\.[5-8]", _SEES_256K),
    (r"qwen-?3-(coder|max|next)", _256K),
    (r"qwen-?3", replace(_TEXT, context_window=32_768)),
    (r"qwen-plus|qwen-flash", _TEXT),
    (r"qwq|qwen-?2|qwen-max|qwen-turbo|qwen2?(:|$)", _32K),
)
_DEEPSEEK = (
    (r"deepseek-(v4|flash|pro)", _1M),
    (r"deepseek-(chat|reasoner)$", _64K),
    (r"deepseek-(v3|chat)", replace(_TEXT, context_window=128_000)),
    (r"deepseek-r1-(distill|0528-qwen)", _8K),
    (r"deepseek-r1", _64K),
)
_KIMI = (
    (r"kimi-(k3|latest)", _SEES_1M),
    (r"kimi-k2\.[5-9]", _SEES_256K),
    (r"kimi-k2-(0905|thinking|turbo)", _256K),
    (r"kimi-k2", _TEXT),
    (r"moonshot-v1-8k", _8K),
    (r"moonshot-v1-32k", _32K),
    (r"moonshot-v1-128k", _TEXT),
)
_GLM = (
    (r"glm-5\.3-flash", _SEES_1M),
    (r"glm-(5\.[23]|latest|flash-latest)", _1M),
    (r"glm-5v", replace(_SEES, context_window=200_000)),
    (r"glm-(4\.[67]|5)(?!v|\d|\.6v)", replace(_TEXT, context_window=200_000)),
    (r"glm-4\.6v", replace(_SEES, context_window=128_000)),
    (r"glm-4\.5v", replace(_SEES, context_window=64_000)),
    (r"glm-4\.5", _TEXT),
)
_MINIMAX = (
    (r"minimax-m3\.", _SEES_1M),
    (r"minimax-m3", replace(_SEES, context_window=512_000)),
    (r"(minimax-)?m2-her", _64K),
    (r"minimax-m2", replace(_TEXT, context_window=196_000)),
)
_LLAMA = (
    (r"llama-?4-scout", _SEES),
    (r"llama-?4", _SEES),
    (r"llama-?3\.2-(11b|90b)|llama-?3\.2-vision", _SEES),
    (r"(meta-)?llama-?(v3\.|3[._])[123]", _TEXT),
    (r"(meta-)?llama-?(v?3|2)(-|:|$)", _8K),
    (r"muse-spark", _SEES_1M),
    (r"muse-glimmer", _TEXT),
)
_GEMMA = (
    (r"gemma-?4", _SEES_256K),
    # The smallest reads text only.
    (r"gemma-?3[:-]1b|gemma-?3:270m|gemma-?3n", _32K),
    (r"gemma-?3", replace(_SEES, context_window=98_304)),
    (r"gemma-?2|gemma-7b|gemma2|gemma(:|$)", _8K),
)
_OTHERS = (
    (r"gpt-oss", replace(_TEXT, context_window=128_000, efforts=("low", "medium", "high"))),
    (r"sonar-pro", replace(_SEES, context_window=200_000, tools=False)),
    (r"sonar", replace(_SEES, context_window=127_072, tools=False)),
    (r"command-a-vision", replace(_SEES, context_window=128_000, tools=False)),
    (r"command-(a|r)", replace(_TEXT, context_window=128_000)),
    (r"mimo-v2", _256K),
    (r"nemotron-3\.5-super-vl|nvidia-nemotron-3\.5-super-vl", _SEES_256K),
    (r"(nvidia-)?nemotron-3", replace(_TEXT, context_window=202_000)),
    (r"step-3\.[57]-flash", _256K),
    (r"solar-pro-?[34]", replace(_TEXT, context_window=131_072)),
    (r"mercury-2", replace(_TEXT, context_window=128_000)),
    (r"hy[34]", _256K),
    (r"phi-?4-multimodal", _SEES),
    (r"phi-?4", replace(_TEXT, context_window=16_384)),
    (r"olmo-?3", replace(_TEXT, context_window=65_536)),
    (r"granite-?[34]", _TEXT),
)

MODELS = (*_QWEN, *_DEEPSEEK, *_KIMI, *_GLM, *_MINIMAX, *_LLAMA, *_GEMMA, *_OTHERS)
