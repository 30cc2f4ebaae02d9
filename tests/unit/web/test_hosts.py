from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.environment import Environment
from habakkuk.core.config.schema import Config
from habakkuk.core.config.settings import Settings
from web.hosts import allowed_hosts, name_of


def settings(listen: str = "127.0.0.1", **config: object) -> Settings:
    return Settings(
        home=Path("/nowhere"),
        config=Config.model_validate(config),
        environment=Environment(Path("/nowhere"), {}),
        database_url=None,
        redis_url=None,
        listen=(listen, 8484),
        config_hash="",
    )


def test_loopback_names_are_always_answered_for() -> None:
    assert {"localhost", "127.0.0.1", "::1"} <= allowed_hosts(settings())


def test_configured_names_are_answered_for() -> None:
    hosts = allowed_hosts(
        settings(
            "192.0.2.7", http={"hosts": ["Chat.Example"]}, public_url="https://hab.example:8443"
        )
    )
    assert {"chat.example", "hab.example", "192.0.2.7"} <= hosts


@pytest.mark.parametrize("listen", ["0.0.0.0", "::"])
def test_listening_everywhere_names_no_host(listen: str) -> None:
    assert allowed_hosts(settings(listen)) == {"localhost", "127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:8484", "localhost"),
        ("127.0.0.1:8484", "127.0.0.1"),
        ("[::1]:8484", "::1"),
        ("[::1]", "::1"),
        ("evil.example", "evil.example"),
        ("", None),
        ("a b", None),
        ("localhost:port", None),
        ("localhost, evil.example", None),
        ("user@localhost", None),
        ("localhost/../x", None),
        ("localhost\\.evil.example", None),
        ("::1", None),
        ("localhost:8484:1", None),
    ],
)
def test_the_name_in_a_host_header(header: str, name: str | None) -> None:
    assert name_of(header) == name
