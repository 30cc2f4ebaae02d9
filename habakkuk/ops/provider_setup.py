"""Set up a model provider: what would change, worked out and checked before anything is written."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from habakkuk.core.config.load import parse_config
from habakkuk.core.config.schema import ProviderConfig
from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError, Invalid
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.profiles.presets import PRESETS, Preset
from habakkuk.llm.selection import Selection, Tier, select
from habakkuk.ops.config_file import with_provider
from habakkuk.ops.env_file import with_variable
from habakkuk.ops.models import with_variables

_KEY = re.compile(r"[\x21-\x7e]{1,8192}")


@dataclass(frozen=True)
class NewProvider:
    """What a person chose. `kind` is the wire format where the name is no preset's.

    `key` None keeps the key that is set, or none. `answers`: the main agent answers with `model`;
    None: when it has no model of its own otherwise.
    """

    name: str
    kind: str | None = None
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    model: str | None = None
    answers: bool | None = None


@dataclass(frozen=True)
class Plan:
    """What would be written, and what it would mean. A file is None when it stays as it is."""

    env_file: bytes | None = field(repr=False)
    config_file: bytes | None
    endpoint: Endpoint
    selection: Selection
    changes: tuple[str, ...]


def checked(form: Any, text: str) -> str:
    """Return text of one of the config's forms, such as Name or Url. Raises Invalid."""
    try:
        return str(TypeAdapter(form).validate_python(text.strip()))
    except ValidationError as error:
        raise Invalid(error.errors()[0]["msg"].removeprefix("Value error, ")) from error


def service_of(settings: Settings, name: str) -> Preset | None:
    """Return the preset that a provider of this name is of, by the config or its own name."""
    entry = settings.config.providers.get(name)
    if entry is None:
        return PRESETS.get(name)
    return PRESETS.get(entry.preset or ("" if entry.type else name))


def preset_of(settings: Settings, chosen: NewProvider) -> Preset | None:
    """Return the preset of what was chosen, None for a server of one's own."""
    return None if chosen.kind else service_of(settings, chosen.name)


def key_variable(settings: Settings, chosen: NewProvider) -> str:
    """Return the variable for the provider's key."""
    entry = settings.config.providers.get(chosen.name)
    if entry is not None and entry.key_variables:
        return entry.key_variables[0]
    preset = preset_of(settings, chosen)
    if preset is not None and preset.api_key_env:
        return preset.api_key_env
    made = re.sub(r"[^A-Z0-9]", "_", chosen.name.upper()) + "_API_KEY"
    return f"_{made}" if made[0].isdigit() else made


def fit_key(text: str) -> str:
    """Return a key without the white space that pasting brings along. Raises Invalid."""
    key = text.strip()
    if not key:
        raise Invalid("the key is empty")
    if _KEY.fullmatch(key) is None:
        raise Invalid("the key has spaces or characters that no key has; copy it again")
    return key


def make_plan(settings: Settings, chosen: NewProvider) -> Plan:
    """Work out what to write. Raises ConfigurationError when the result were not valid."""
    variable = key_variable(settings, chosen)
    entry = _entry(settings, chosen, variable)
    raw = _content(settings.home / "config.yaml")
    keyed = with_variables(settings, {variable: chosen.key}) if chosen.key else settings
    added = _as_read(keyed, with_provider(raw, chosen.name, entry, {}))
    models = _models(settings, added, chosen)
    edited = with_provider(raw, chosen.name, entry, models)
    after = select(_as_read(keyed, edited))
    endpoint = after.endpoints.get(chosen.name)
    if endpoint is None:
        raise ConfigurationError(f"{chosen.name}: no key; give one, or set {variable}")
    written = variable if chosen.key else None
    return Plan(
        env_file=_env_file(settings, variable, chosen.key),
        config_file=None if entry is None and not models else edited,
        endpoint=endpoint,
        selection=after,
        changes=_changes(settings, written, chosen.name, entry, models),
    )


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _env_file(settings: Settings, variable: str, key: str | None) -> bytes | None:
    return None if key is None else with_variable(_content(settings.home / ".env"), variable, key)


def _as_read(settings: Settings, raw: bytes) -> Settings:
    """Return the settings as they would be with `raw` as the config."""
    return dataclasses.replace(settings, config=parse_config(raw, "config.yaml"))


def _entry(settings: Settings, chosen: NewProvider, variable: str) -> dict[str, str] | None:
    """Return what the provider's entry must say, None when it needs none."""
    preset = preset_of(settings, chosen)
    configured = settings.config.providers
    entry = {
        "type": chosen.kind,
        "base_url": chosen.base_url,
        "api_key_env": _unnamed(configured.get(chosen.name), preset, variable, chosen.key),
    }
    said = {key: value for key, value in entry.items() if value is not None}
    if said:
        return said
    # A service whose key is set is found by itself, but not beside configured ones.
    found = preset is not None and not preset.keyless and not configured
    return None if found or chosen.name in configured else {}


def _unnamed(
    entry: ProviderConfig | None, preset: Preset | None, variable: str, key: str | None
) -> str | None:
    """Return the key's variable when neither the entry nor the preset names it."""
    named = entry.key_variables if entry is not None else ()
    if preset is not None and preset.api_key_env and not named:
        named = (preset.api_key_env,)
    return None if key is None or variable in named else variable


def _models(settings: Settings, after: Settings, chosen: NewProvider) -> dict[str, str]:
    """Return the models to write for agents.

    The main agent's when it is to answer with the new one; those of agents that would change only
    because a provider was added; and the new one where nothing real would answer otherwise.
    """
    before = _selected(settings)
    main = settings.config.main_agent
    wanted = f"{chosen.name}/{chosen.model}" if chosen.model else None
    models: dict[str, str | None] = {}
    for agent, now in select(after).agents.items():
        old = before.agents[agent] if before else None
        if agent == main and chosen.answers:
            models[agent] = wanted
        elif old is not None and old.tier is Tier.FULL:
            models[agent] = str(old.chain[0])
        elif now.tier is not Tier.FULL and chosen.answers is not False:
            models[agent] = wanted
        if models.get(agent) in {None, str(now.chain[0]) if now.chain else None}:
            models.pop(agent, None)
    return {agent: model for agent, model in models.items() if model}


def _selected(settings: Settings) -> Selection | None:
    """Return who answers now; None when the config names what is only being added."""
    try:
        return select(settings)
    except ConfigurationError:
        return None


def _changes(
    settings: Settings,
    written: str | None,
    name: str,
    entry: Mapping[str, str] | None,
    models: Mapping[str, str],
) -> tuple[str, ...]:
    """Say what would change, one line each."""
    said = [f"{settings.home / '.env'}: {written}"] if written else []
    path = settings.home / "config.yaml"
    if entry is not None:
        shown = ", ".join(f"{key}: {value}" for key, value in entry.items())
        said.append(f"{path}: providers.{name}{f' ({shown})' if shown else ''}")
    said += [f"{path}: agents.{agent}.model: {model}" for agent, model in models.items()]
    return tuple(said)


def overruled(settings: Settings, variable: str, key: str | None) -> bool:
    """Whether the environment holds another key, which wins over the one in `.env`."""
    return key is not None and settings.environment.process.get(variable, key) != key
