"""Accounts in config.yaml: checked before anything starts, each error naming its place."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from habakkuk.channels.registry import Channels, manifests
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.outside import OutsideHttp


def channels(name: str = "phone", **settings: Any) -> Channels:
    settings = {"type": "webhook", "secret_env": "PHONE"} | settings
    return Channels({name: ChannelConfig(**settings)}, {}, OutsideHttp())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"type": "webhok"}, r"channels\.phone\.type: .*did you mean 'webhook'\?"),
        ({"secret_envv": "X"}, r"channels\.phone\.secret_envv: .*did you mean 'secret_env'\?"),
        ({"receiver": "perfect"}, r"channels\.phone\.receiver: input should be"),
        ({"url": "ftp://x"}, r"channels\.phone\.url: write a URL"),
        ({"secret_env": 7}, r"channels\.phone\.secret_env: input should be a valid string"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        channels(**settings)


@pytest.mark.parametrize("name", ["web", "cli", "openai"])
def test_names_of_what_is_no_channel_are_taken(name: str) -> None:
    with pytest.raises(ConfigurationError, match="this name is taken"):
        channels(name)


def test_a_missing_secret_closes_the_account_alone() -> None:
    made = channels()
    with pytest.raises(ConfigurationError, match="PHONE is not set"):
        made.line("phone")
    assert made.problems() == [
        "channels.phone: the variable PHONE is not set; put it into the environment or .env"
    ]


def test_facts_are_read_without_loading_an_adapter() -> None:
    program = (
        "import sys; from habakkuk.channels.registry import manifests; found = manifests();"
        "assert found; assert not [m for m in sys.modules if m.endswith('.adapter')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert manifests()["webhook"].name == "webhook"


_WARM = """
import sys
from habakkuk.channels.registry import Channels
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.outside import OutsideHttp
phone = ChannelConfig(type="webhook", secret_env="PHONE")
bot = ChannelConfig(type="telegram", token_env="TOKEN")
Channels({"phone": phone, "bot": bot}, {}, OutsideHttp()).warm()
print(*[name for name in sys.modules if name.endswith(".adapter")])
"""


def test_before_the_fork_only_what_webhooks_need_is_loaded() -> None:
    """A web process that takes the place of a dead one would load it with its first message."""
    done = subprocess.run([sys.executable, "-c", _WARM], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["habakkuk.channels.webhook.adapter"]
