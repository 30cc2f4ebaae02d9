"""The accounts of the webhook channel in a drill, and the platforms behind them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.harness.programs import free_port
from tests.fakes.platform_server import SECRET

VARIABLE = "DRILL_WEBHOOK_SECRET"
_SECRET = "whsec_" + base64.b64encode(b"the secret of the drill's platforms").decode()
# The shortest that the channel takes, so that answers go out in several parts.
_MOST_CHARACTERS = 100
_ACCOUNT = """
  {name}:
    type: webhook
    secret_env: {variable}
    url: "http://127.0.0.1:{port}/in"
    receiver: {mode}
    max_characters: {most}
    agent: {agent}
    allow_from: ["*"]
    messages_per_minute: null"""


@dataclass(frozen=True)
class Account:
    """One account: what its platform does with repeats (`mode`) and how it behaves (`mood`)."""

    name: str
    mode: str
    mood: str = "steady"
    agent: str = "habakkuk"


ACCOUNTS = (
    Account("keyed", "keyed"),
    Account("asking", "keyed", agent="careful"),
    Account("readback", "read-back"),
    Account("plain", "plain"),
    Account("refusing", "keyed", "refusing"),
    Account("dropping", "keyed", "dropping"),
    Account("droppingback", "read-back", "dropping"),
    Account("droppingplain", "plain", "dropping"),
)


class Platforms:
    """Where the accounts' platforms listen, and what the product is told of them."""

    def __init__(self) -> None:
        """Choose the ports."""
        self.control = free_port()
        self._ports = {account.name: free_port() for account in ACCOUNTS}
        self.secret = _SECRET

    @property
    def config(self) -> str:
        """Their part of config.yaml."""
        accounts = (
            _ACCOUNT.format(
                name=account.name,
                variable=VARIABLE,
                port=self._ports[account.name],
                mode=account.mode,
                most=_MOST_CHARACTERS,
                agent=account.agent,
            )
            for account in ACCOUNTS
        )
        return "channels:" + "".join(accounts) + "\n"

    @property
    def variables(self) -> Mapping[str, str]:
        """The secret as the product and as the platforms find it."""
        return {VARIABLE: _SECRET, SECRET: _SECRET}

    @property
    def options(self) -> Sequence[str]:
        """What the process of the platforms is started with."""
        options = ["--control", str(self.control)]
        for account in ACCOUNTS:
            port = self._ports[account.name]
            options += ["--account", f"{account.name}:{port}:{account.mode}:{account.mood}"]
        return options
