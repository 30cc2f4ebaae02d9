"""The choice of a local model at the start of `up`: refused, named, offered, bundled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.ops.local_install import bundled_file, install, installed, named_file
from habakkuk.ops.models import LocalModel, bundled_model, named_model, needs_bundled
from habakkuk.ops.offers import accept, find_offer
from habakkuk.ops.up import Setting

Ask = Callable[[str], bool]


@dataclass(frozen=True)
class Wanted:
    """What the command line says: `bundled` may be used, or `file` is to be."""

    bundled: bool = True
    file: Path | None = None


def offer_server(settings: Settings, wanted: Wanted, ask: Ask | None) -> Settings:
    """Offer a model server that runs already, instead of the bundled model; return the settings.

    Without somebody to `ask` nothing is looked for. Raises ConfigurationError.
    """
    if ask is None or wanted.file or not wanted.bundled or not needs_bundled(settings):
        return settings
    offer = find_offer()
    if offer is None or not ask(offer.question):
        return settings
    accept(offer, settings)
    return load_settings(settings.environment)


def choose_model(setting: Setting, wanted: Wanted) -> LocalModel | None:
    """Return the local model to start, installed; None when none is needed or possible.

    Raises ConfigurationError, and Stopped when the installation was broken off.
    """
    if wanted.file is not None:
        file = named_file(wanted.file)
        ready = installed() or install(
            setting.settings, setting.home, setting.console, setting.stop
        )
        return named_model(file) if ready else None
    if not wanted.bundled or not needs_bundled(setting.settings):
        return None
    if not installed() and not install(
        setting.settings, setting.home, setting.console, setting.stop
    ):
        return None
    bundled = bundled_file()
    return bundled_model(bundled) if bundled else None
