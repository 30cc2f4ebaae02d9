"""What one process is configured with."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.environment import Environment, read_environment
from habakkuk.core.config.settings import load_settings, parse_listen, psycopg2_url
from habakkuk.core.errors import ConfigurationError


def environment(home: Path, **variables: str) -> Environment:
    return read_environment({"HABAKKUK_HOME": str(home), **variables})


def test_without_anything_there_are_defaults(tmp_path: Path) -> None:
    settings = load_settings(environment(tmp_path))
    assert settings.database_url is None
    assert settings.redis_url is None
    assert settings.listen == ("127.0.0.1", 8484)
    assert settings.config.main_agent == "habakkuk"


def test_urls_come_from_the_environment(tmp_path: Path) -> None:
    settings = load_settings(
        environment(
            tmp_path,
            DATABASE_URL="postgresql://u:p@h/d",
            REDIS_URL="redis://r",
            HABAKKUK_LISTEN="0.0.0.0:80",
        )
    )
    assert settings.database_url == "postgresql+psycopg2://u:p@h/d"
    assert settings.redis_url == "redis://r"
    assert settings.listen == ("0.0.0.0", 80)


def test_the_hash_tells_files_apart(tmp_path: Path) -> None:
    hashes = [load_settings(environment(tmp_path)).config_hash]
    for zone in ("UTC", "Europe/Berlin"):
        (tmp_path / "config.yaml").write_text(f"timezone: {zone}\n")
        hashes.append(load_settings(environment(tmp_path)).config_hash)
    assert len(set(hashes)) == 3
    assert load_settings(environment(tmp_path)).config_hash == hashes[-1]


def test_the_secrets_are_those_that_the_config_names_too(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "providers:\n"
        '  mine: {type: openai, base_url: "http://h/v1", api_key_env: MINE,'
        ' headers: {X-Pass: "in a header"}}\n'
    )
    settings = load_settings(
        environment(tmp_path, MINE="by the config", OTHER_TOKEN="by its name", PLAIN="no secret")
    )
    assert {"by the config", "in a header", "by its name"} <= set(settings.secrets)
    assert "no secret" not in settings.secrets


def test_a_secret_is_the_value_of_the_variable_it_names(tmp_path: Path) -> None:
    settings = load_settings(environment(tmp_path, MINE_KEY="the-value"))
    assert settings.secret("MINE_KEY") == "the-value"
    assert settings.secret("NO_SUCH_KEY") is None
    assert settings.secret(None) is None


def test_a_repr_shows_no_secret(tmp_path: Path) -> None:
    settings = load_settings(
        environment(
            tmp_path,
            DATABASE_URL="postgresql://u:canary@h/d",
            REDIS_URL="redis://:canary@h",
            MINE_KEY="canary",
        )
    )
    assert "canary" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "listen"),
    [
        ("127.0.0.1:8484", ("127.0.0.1", 8484)),
        ("localhost:1", ("localhost", 1)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_a_listening_address_is_host_and_port(text: str, listen: tuple[str, int]) -> None:
    assert parse_listen(text) == listen


@pytest.mark.parametrize(
    "text", ["8484", ":8484", "localhost", "localhost:", "h:0", "h:65536", "h:-1", "h:８４", "h:8x"]
)
def test_what_is_no_listening_address(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is not host:port, such as 127\.0\.0\.1:8484"):
        parse_listen(text)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg2"])
def test_the_driver_is_always_named(scheme: str) -> None:
    assert psycopg2_url(f"{scheme}://u@/d?host=/run") == "postgresql+psycopg2://u@/d?host=/run"


@pytest.mark.parametrize("url", ["mysql://h/d", "sqlite:///x", "postgresql+asyncpg://h/d", "h"])
def test_only_postgresql_is_taken(url: str) -> None:
    with pytest.raises(ConfigurationError, match="only PostgreSQL is supported"):
        psycopg2_url(url)
