"""The registry: types are found, SDKs load on first use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from habakkuk.core.errors import ConfigurationError
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.registry import Registry, provider_types

ROOT = Path(__file__).parents[4]
MINE = Endpoint("mine", "http://127.0.0.1:9/v1", "k")
LIGHT = (
    "registry",
    "router",
    "selection",
    "faults",
    "profiles.presets",
    "profiles.models",
    "types",
)


def test_types_are_found_in_the_package() -> None:
    assert provider_types() == ("anthropic", "gemini", "openai", "responses")


def test_a_provider_is_made_once() -> None:
    registry = Registry({"mine": MINE})
    assert registry.provider("mine") is registry.provider("mine")
    registry.close()


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"'yours'.*there are: mine"):
        Registry({"mine": MINE}).provider("yours")


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no type of provider"):
        Registry({"x": Endpoint("x", "http://h/v1", "", type="nothing")}).provider("x")


def test_an_impossible_address_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigurationError, match=r"providers\.x\.base_url"):
        Registry({"x": Endpoint("x", "http://h:port/v1", "")}).provider("x")


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("module", LIGHT)
def test_importing_it_loads_no_sdk(module: str) -> None:
    code = f"""
import sys, habakkuk.llm.{module}
print([name for name in ('openai', 'anthropic', 'google.genai', 'httpx2') if name in sys.modules])
"""
    assert run(code) == "[]"


@pytest.mark.parametrize(
    ("kind", "sdk", "loaded"),
    [
        ("openai", "openai", ("openai.lib._client_auth", "httpx2")),
        ("responses", "openai", ("openai.lib._client_auth", "httpx2")),
        ("anthropic", "anthropic", ("anthropic", "httpx2")),
        ("gemini", "google.genai", ("google.genai.errors", "httpx2")),
    ],
)
def test_warming_loads_what_the_first_request_needs_and_no_other_sdk(
    kind: str, sdk: str, loaded: tuple[str, ...]
) -> None:
    code = f"""
import sys
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.registry import Registry
Registry({{'m': Endpoint('m', 'http://127.0.0.1:9/v1', '', type={kind!r})}}).warm()
print(all(name in sys.modules for name in {loaded!r}),
      [name for name in ('openai', 'anthropic', 'google.genai') if name in sys.modules])
"""
    assert run(code) == f"True ['{sdk}']"
