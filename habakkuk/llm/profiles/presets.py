"""Known services and local servers, in the order in which a key in the environment is looked for.

Addresses and key variables are what the services document. Default models are facts of late 2026
(names as in the price table of genai-prices 0.2.3): every one can be replaced by `model:` of an
agent, and no code depends on one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from habakkuk.llm.contract import Dialect


@dataclass(frozen=True)
class Preset:
    """One service.

    `default_model` is None where it is whatever the server has loaded, and where a key in the
    environment does not mean that models should be called with it: then one must be named.
    """

    name: str
    base_url: str
    api_key_env: str | None = None
    default_model: str | None = None
    type: str = "openai"
    dialect: Dialect = field(default_factory=Dialect)

    @property
    def keyless(self) -> bool:
        """Whether it answers without a key."""
        return self.api_key_env is None


_ANTHROPIC = Preset(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_API_KEY",
    "claude-sonnet-5-5",
    type="anthropic",
)
_OPENAI = Preset(
    "openai",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    "gpt-6-sol",
    type="responses",
    dialect=Dialect(cache_key=True, own_rules=True),
)
_OPENROUTER = Preset(
    "openrouter",
    "https://openrouter.ai/api/v1",
    "OPENROUTER_API_KEY",
    "openrouter/auto",
    dialect=Dialect(documents=True),
)
_MISTRAL = Preset(
    "mistral",
    "https://api.mistral.ai/v1",
    "MISTRAL_API_KEY",
    "mistral-medium-latest",
    # It refuses fields that it does not know (stream_options among them, usage comes anyway)
    # and takes only ids of nine letters and digits, and eight images at a time.
    dialect=Dialect(stream_usage=False, call_id_length=9, images=8),
)
_GEMINI = Preset(
    "gemini",
    "https://generativelanguage.googleapis.com/v1beta",
    "GEMINI_API_KEY",
    "gemini-3.8-flash",
    type="gemini",
)
# The same services in the format that most others speak: to be named, never chosen by a key.
_BY_CHAT_COMPLETIONS = (
    Preset(
        "openai-chat",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        dialect=Dialect(cache_key=True, documents=True, own_rules=True),
    ),
    Preset(
        "gemini-openai",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
    ),
)
# Chat Completions at the address that each documents for it, where nothing else is said.
_SERVICES = (
    _ANTHROPIC,
    _OPENAI,
    _OPENROUTER,
    Preset(
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        "openai/gpt-oss-120b",
        dialect=Dialect(images=5),
    ),
    Preset("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-v4-flash"),
    _MISTRAL,
    Preset("xai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.7"),
    Preset("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "openai/gpt-oss-120b"),
    Preset("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "gpt-oss-120b"),
    Preset(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        "accounts/fireworks/models/gpt-oss-120b",
    ),
    _GEMINI,
    Preset(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        "kimi-k3",
        dialect=Dialect(cache_key=True),
    ),
    Preset("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "glm-5.3"),
    Preset("zhipu", "https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY", "glm-5.3"),
    Preset("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY", "MiniMax-M3"),
    Preset(
        "qwen",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        "qwen-plus",
    ),
    Preset(
        "cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY", "command-a-03-2025"
    ),
    Preset("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY", "sonar-pro"),
    Preset(
        "deepinfra",
        "https://api.deepinfra.com/v1/openai",
        "DEEPINFRA_API_KEY",
        "openai/gpt-oss-120b",
    ),
    Preset(
        "nebius", "https://api.tokenfactory.nebius.com/v1", "NEBIUS_API_KEY", "openai/gpt-oss-120b"
    ),
    Preset("novita", "https://api.novita.ai/openai", "NOVITA_API_KEY", "openai/gpt-oss-120b"),
    Preset("baseten", "https://inference.baseten.co/v1", "BASETEN_API_KEY", "openai/gpt-oss-120b"),
    Preset("sambanova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY", "gpt-oss-120b"),
    Preset(
        "siliconflow",
        "https://api.siliconflow.com/v1",
        "SILICONFLOW_API_KEY",
        "openai/gpt-oss-120b",
    ),
    Preset(
        "nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY", "openai/gpt-oss-120b"
    ),
    Preset(
        "vercel", "https://ai-gateway.vercel.sh/v1", "AI_GATEWAY_API_KEY", "openai/gpt-oss-120b"
    ),
    Preset(
        "ovhcloud",
        "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
        "OVHCLOUD_API_KEY",
        "gpt-oss-120b",
    ),
    Preset("scaleway", "https://api.scaleway.ai/v1", "SCALEWAY_API_KEY", "gpt-oss-120b"),
    Preset("xiaomi", "https://api.xiaomimimo.com/v1", "XIAOMI_API_KEY", "mimo-v2.6-pro"),
    Preset("stepfun", "https://api.stepfun.com/v1", "STEPFUN_API_KEY", "step-3.7-flash"),
    Preset("upstage", "https://api.upstage.ai/v1/solar", "UPSTAGE_API_KEY", "solar-pro3"),
    Preset("inception", "https://api.inceptionlabs.ai/v1", "INCEPTION_API_KEY", "mercury-2"),
    Preset("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN"),
    Preset("venice", "https://api.venice.ai/api/v1", "VENICE_API_KEY"),
    Preset("friendli", "https://api.friendli.ai/serverless/v1", "FRIENDLI_TOKEN"),
    Preset("chutes", "https://llm.chutes.ai/v1", "CHUTES_API_KEY"),
)
# Each at the port that it takes by itself.
_LOCAL_SERVERS = (
    Preset("ollama", "http://127.0.0.1:11434/v1"),
    Preset("lmstudio", "http://127.0.0.1:1234/v1"),
    Preset("llamacpp", "http://127.0.0.1:8080/v1"),
    Preset("vllm", "http://127.0.0.1:8000/v1"),
    Preset("sglang", "http://127.0.0.1:30000/v1"),
    Preset("litellm", "http://127.0.0.1:4000/v1", dialect=Dialect(documents=True)),
    Preset("localai", "http://127.0.0.1:8080/v1"),
    Preset("koboldcpp", "http://127.0.0.1:5001/v1"),
    Preset("jan", "http://127.0.0.1:1337/v1"),
    Preset("textgen", "http://127.0.0.1:5000/v1"),
    Preset("gpt4all", "http://127.0.0.1:4891/v1"),
    Preset("docker", "http://127.0.0.1:12434/engines/v1"),
)
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {preset.name: preset for preset in (*_SERVICES, *_BY_CHAT_COMPLETIONS, *_LOCAL_SERVERS)}
)
