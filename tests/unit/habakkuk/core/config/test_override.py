from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.schema import Config
from habakkuk.core.config.settings import load_settings
from habakkuk.core.errors import ConfigurationError


def config(home: Path, **variables: str) -> Config:
    return load_settings(read_environment({"HABAKKUK_HOME": str(home), **variables})).config


def test_the_environment_says_where_people_find_it(home: Path) -> None:
    found = config(
        home, HABAKKUK_PUBLIC_URL="https://chat.example.org", HABAKKUK_TRUSTED_PROXIES="2"
    )
    assert (found.public_url, found.trusted_proxies) == ("https://chat.example.org", 2)


def test_the_environment_wins_over_the_file_and_leaves_the_rest(home: Path) -> None:
    (home / "config.yaml").write_text(
        "public_url: https://old.example.org\ntrusted_proxies: 3\nlogs: {level: debug}\n"
    )
    found = config(home, HABAKKUK_PUBLIC_URL="https://new.example.org")
    assert (found.public_url, found.trusted_proxies) == ("https://new.example.org", 3)
    assert found.logs.level == "debug"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HABAKKUK_PUBLIC_URL", "chat.example.org"),
        ("HABAKKUK_PUBLIC_URL", "https://chat.example.org/path"),
        ("HABAKKUK_TRUSTED_PROXIES", "one"),
        ("HABAKKUK_TRUSTED_PROXIES", "-1"),
        ("HABAKKUK_TRUSTED_PROXIES", "9"),
    ],
)
def test_what_cannot_be_is_said_by_the_variables_name(home: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        config(home, **{name: value})
