"""The models that can be named here."""

from __future__ import annotations

from pathlib import Path

from habakkuk.core.config.environment import Environment
from habakkuk.core.config.settings import load_settings
from habakkuk.llm.catalogue import catalogue
from habakkuk.llm.selection import select
from habakkuk.llm.types import ModelRef

CONFIG = """
providers:
  box: {preset: ollama}
  paid: {type: openai, base_url: "http://127.0.0.1:1/v1", api_key_env: PAID_KEY}
agents:
  habakkuk: {model: openai/gpt-6-sol, fallbacks: [box/llama3.2]}
  other: {model: openai/gpt-6-sol}
"""


def test_models_of_agents_come_first_then_defaults_then_those_told(home: Path) -> None:
    (home / "config.yaml").write_text(CONFIG, encoding="utf-8")
    environment = Environment(home=home, values={"OPENAI_API_KEY": "k", "XAI_API_KEY": "x"})
    selection = select(load_settings(environment))
    found = catalogue(selection, [ModelRef("box", "gemma3:4b"), ModelRef("box", "llama3.2")])
    assert [one.name for one in found] == ["openai", "box", "xai", "paid"]
    assert {one.name: [model.ref.model for model in one.models] for one in found} == {
        "openai": ["gpt-6-sol"],
        "box": ["llama3.2", "gemma3:4b"],
        "xai": ["grok-4.7"],
        "paid": [],
    }
    assert found[0].models[0].agents == ("habakkuk", "other")
    assert {one.name: one.missing_key for one in found}["paid"] == "PAID_KEY"
    assert found[0].models[0].documents
    assert not found[2].models[0].documents
