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
    """One service. `default_model` is None where it is whatever the server has loaded."""

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


_ALL = (
    Preset(
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        "claude-sonnet-5-5",
        type="anthropic",
    ),
    Preset(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "gpt-6-sol",
        dialect=Dialect(cache_key=True),
    ),
    Preset("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/auto"),
    Preset("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-120b"),
    Preset("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-v4-flash"),
    Preset(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        "mistral-medium-latest",
        # It refuses fields that it does not know (stream_options among them, usage comes anyway)
        # and takes only ids of nine letters and digits.
        dialect=Dialect(stream_usage=False, call_id_length=9),
    ),
    Preset("xai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.7"),
    Preset("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "openai/gpt-oss-120b"),
    Preset("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "gpt-oss-120b"),
    Preset(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        "accounts/fireworks/models/gpt-oss-120b",
    ),
    Preset(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "gemini-3.8-flash",
    ),
    Preset("ollama", "http://127.0.0.1:11434/v1"),
    Preset("lmstudio", "http://127.0.0.1:1234/v1"),
    Preset("llamacpp", "http://127.0.0.1:8080/v1"),
    Preset("vllm", "http://127.0.0.1:8000/v1"),
)
PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})
