"""The settings of searching, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.errors import ConfigurationError

WRITTEN = """
search:
  backends:
    - brave
    - {backend: tavily, api_key_env: MY_WORD, timeout: "8s"}
    - {backend: searxng, url: "http://127.0.0.1:8888"}
  keyless: false
  timeout: "20s"
  tuning: {enabled: true, max_bump: "10s"}
"""


def loaded(home: Path, text: str, **variables: str) -> Settings:
    (home / "config.yaml").write_text(text)
    return load_settings(read_environment({"HABAKKUK_HOME": str(home), **variables}))


def test_a_name_alone_is_a_back_end_with_its_defaults(tmp_path: Path) -> None:
    search = loaded(tmp_path, WRITTEN).config.search
    assert [one.backend for one in search.backends] == ["brave", "tavily", "searxng"]
    assert [one.timeout for one in search.backends] == [10.0, 8.0, 10.0]
    assert (search.timeout, search.keyless, search.tuning.step) == (20.0, False, 5.0)


def test_keys_of_search_are_secrets_whatever_their_variables_are_called(tmp_path: Path) -> None:
    settings = loaded(tmp_path, WRITTEN, MY_WORD="long-canary-value")
    assert "long-canary-value" in settings.secrets


@pytest.mark.parametrize(
    "wrong",
    [
        "search: {backends: [{backend: brave, api_key: abc}]}",
        "search: {backends: [{backend: brave, api_key_env: 'sk-abc'}]}",
        "search: {backends: [{backend: searxng, url: 'file:///etc'}]}",
        "search: {backends: [{backend: brave, timeout: '0s'}]}",
        "search: {backends: [{backend: brave, timeout: 10}]}",
        "search: {timeout: '10m'}",
        "search: {backend: brave}",
        "search: {backends: [[brave]]}",
    ],
)
def test_what_is_wrong_is_said_at_the_start(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="search"):
        loaded(tmp_path, wrong)
