"""The doctor's checks of the accounts on chat platforms."""

from __future__ import annotations

from collections.abc import Iterator

from habakkuk.channels.registry import Channels
from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.outside import OutsideHttp
from habakkuk.ops.findings import Finding, fail, ok, warn


def check_channels(settings: Settings) -> Iterator[Finding]:
    """Check that every account can be reached and answers; nothing is sent."""
    configs = settings.config.channels
    try:
        channels = Channels(configs, settings.environment.values, OutsideHttp())
    except ConfigurationError as error:
        yield fail("channels", str(error), "correct config.yaml")
        return
    for name, config in configs.items():
        yield _account(channels, f"channel {name}", name, allowed=len(config.allow_from))


def _account(channels: Channels, title: str, name: str, *, allowed: int) -> Finding:
    try:
        line = channels.line(name)
    except ConfigurationError as error:
        return fail(title, str(error), "the account takes no messages until then")
    if line is not None and line.adapter.concern is not None:
        return warn(title, *line.adapter.concern)
    if line is None or not allowed:
        if line is not None and line.adapter.manifest.pairs:
            return ok(title, "nobody in allow_from; strangers are told a code for habakkuk pair")
        return warn(title, "nobody may write", f"name ids under channels.{name}.allow_from")
    if not line.adapter.sends:
        return warn(title, "answers go nowhere", f"set channels.{name}.url to receive them")
    return ok(title, f"{line.adapter.manifest.title}, {allowed} in allow_from")
