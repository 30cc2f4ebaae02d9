"""Which models a provider has, as each format tells it."""

from __future__ import annotations

import pytest

from habakkuk.llm.contract import Endpoint
from habakkuk.ops.provider_check import list_models
from tests.fakes.model_server import ModelServer


@pytest.mark.parametrize("kind", ["openai", "responses", "gemini"])
def test_the_models_of_a_provider(kind: str) -> None:
    with ModelServer() as server:
        found = list_models(Endpoint("mine", server.base_url, "k", type=kind))
    assert list(found) == ["fake-model", "other-model"]


def test_gemini_is_asked_with_or_without_a_version_in_its_address() -> None:
    with ModelServer() as server:
        base = server.base_url.removesuffix("/v1")
        found = list_models(Endpoint("mine", base, "k", type="gemini"))
    assert list(found) == ["fake-model", "other-model"]
