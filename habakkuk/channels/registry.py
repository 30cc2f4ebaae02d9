"""Find the channels, and make the accounts that config.yaml names."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import isabstract
from typing import Any

from pydantic import ValidationError

from habakkuk.channels.contract import (
    Account,
    AccountSettings,
    ChannelAdapter,
    Manifest,
)
from habakkuk.channels.polling import ChannelPoller
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.nearest import advice
from habakkuk.core.outside import OutsideHttp

_PACKAGE = "habakkuk.channels"
# Accounts of what is no channel: the dashboard, the API and the command line.
_RESERVED = {"web", "openai", "cli"}

Adapter = ChannelAdapter[Any]


def manifests() -> Mapping[str, Manifest]:
    """Return the manifest of every channel by its name; no adapter is loaded."""
    return {name: _manifest(name) for name in _folders()}


@dataclass(frozen=True)
class Line:
    """One account: its settings, and the adapter that talks for it."""

    name: str
    config: ChannelConfig
    adapter: Adapter

    @property
    def channel(self) -> str:
        """The channel's name."""
        return self.adapter.manifest.name

    @cached_property
    def allowed(self) -> frozenset[str]:
        """Who may write by config.yaml, as events name them."""
        return frozenset(map(self.adapter.manifest.canonical, self.config.allow_from))


class Channels:
    """The accounts of one process."""

    def __init__(
        self, accounts: Mapping[str, ChannelConfig], secrets: Mapping[str, str], http: OutsideHttp
    ) -> None:
        """Check every account's settings. Raises ConfigurationError with what to change.

        An account whose secret is missing stays closed, and says so to whoever uses it: the rest
        of the server goes on.
        """
        self._configs = accounts
        self._secrets = secrets
        self._http = http
        self._settings = {name: _settings(name, config) for name, config in accounts.items()}
        self._lines: dict[str, Line] = {}

    @property
    def names(self) -> list[str]:
        """The names of all accounts."""
        return list(self._configs)

    def line(self, name: str) -> Line | None:
        """Return an account, None when there is none of this name.

        Raises ConfigurationError when it lacks something, such as its secret.
        """
        config = self._configs.get(name)
        if config is None:
            return None
        # Two threads may both make one: the objects are alike.
        if name not in self._lines:
            self._lines[name] = Line(name, config, self._adapter(name, config))
        return self._lines[name]

    def canonical(self, name: str, written: str) -> str:
        """Return an id of somebody on an account as events have it, of what a person wrote."""
        config = self._configs.get(name)
        return _manifest(config.type).canonical(written) if config is not None else written

    @property
    def configs(self) -> Mapping[str, ChannelConfig]:
        """What config.yaml says of each account."""
        return self._configs

    @property
    def polled(self) -> list[str]:
        """The accounts whose messages somebody has to fetch."""
        return [name for name, settings in self._settings.items() if settings.polls]

    def warm(self) -> None:
        """Load what the webhooks of the accounts need, for a process that will fork. Makes none."""
        for name, config in self._configs.items():
            if not self._settings[name].polls:
                importlib.import_module(f"{_PACKAGE}.{config.type}.adapter")

    def poller(self, line: Line) -> ChannelPoller:
        """Make what listens to an account."""
        made: ChannelPoller = _class_in(f"{line.channel}.poller", ChannelPoller)(line.adapter)
        return made

    def problems(self) -> list[str]:
        """Say what keeps accounts closed, one sentence each."""
        found = []
        for name in self._configs:
            try:
                self.line(name)
            except ConfigurationError as error:
                found.append(str(error))
        return found

    def _adapter(self, name: str, config: ChannelConfig) -> Adapter:
        account = Account(name, self._secrets)
        kind = _class_in(f"{config.type}.adapter", ChannelAdapter)
        made: Adapter = kind(account, self._settings[name], self._http)
        return made


def _folders() -> Iterator[str]:
    for module in pkgutil.iter_modules(importlib.import_module(_PACKAGE).__path__):
        if module.ispkg:
            yield module.name


def _manifest(name: str) -> Manifest:
    found = importlib.import_module(f"{_PACKAGE}.{name}.manifest").MANIFEST
    assert isinstance(found, Manifest), f"{name} has no manifest"  # noqa: S101 - a programmer's error
    return found


def _class_in(module: str, base: type) -> Any:
    """Return the one class of a channel's module that is made of `base`."""
    members = vars(importlib.import_module(f"{_PACKAGE}.{module}")).values()
    found = [
        member
        for member in members
        if isinstance(member, type) and issubclass(member, base) and not isabstract(member)
    ]
    assert len(found) == 1, f"{module} has no {base.__name__}, or several"  # noqa: S101 - a programmer's error
    return found[0]


def polled(accounts: Mapping[str, ChannelConfig]) -> list[str]:
    """Return the accounts whose messages somebody has to fetch. Raises ConfigurationError."""
    return [name for name, config in accounts.items() if _settings(name, config).polls]


def _settings(name: str, config: ChannelConfig) -> AccountSettings:
    place = f"channels.{name}"
    if name in _RESERVED:
        raise ConfigurationError(f"{place}: this name is taken; choose another")
    known = sorted(_folders())
    if config.type not in known:
        meant = advice(config.type, known, "there are")
        raise ConfigurationError(f"{place}.type: there is no channel {config.type!r}; {meant}")
    model = _manifest(config.type).settings
    try:
        return model.model_validate(config.model_extra or {})
    except ValidationError as error:
        raise ConfigurationError(
            "\n".join(_fault(place, model, fault) for fault in error.errors())
        ) from error


def _fault(place: str, model: type[AccountSettings], fault: Any) -> str:
    path = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        known = [*model.model_fields, *ChannelConfig.model_fields]
        return f"{place}.{path}: unknown key; {advice(path, known, 'known keys')}"
    message = str(fault["msg"]).removeprefix("Value error, ")
    return f"{place}.{path}: {message[0].lower()}{message[1:]}"
