"""Which model answers for which agent.

From the configuration, else from the keys that are set, else the bundled local model, else
nobody; then it says what to set.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

from habakkuk.core.config.schema import AgentConfig, ProviderConfig
from habakkuk.core.config.settings import Settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.llm.contract import Dialect, Endpoint
from habakkuk.llm.profiles.models import LOCAL_MODEL, LOCAL_PROVIDER
from habakkuk.llm.profiles.presets import PRESETS, Preset
from habakkuk.llm.registry import provider_types
from habakkuk.llm.types import ModelRef

LOCAL_URL = "HABAKKUK_LOCAL_MODEL_URL"
LOCAL_NAME = "HABAKKUK_LOCAL_MODEL_NAME"
NO_MODEL = (
    "no model is configured: set the key of a service, such as OPENAI_API_KEY or"
    " OPENROUTER_API_KEY, in the environment or in $HABAKKUK_HOME/.env, or name a provider and"
    " a model in config.yaml"
)
_HEADER = re.compile(r"[A-Za-z0-9_-]+")


class Tier(StrEnum):
    """How well an agent can answer. NONE: what is stored can be read, but nothing answers."""

    FULL = "full"
    TOY = "toy"
    NONE = "none"


@dataclass(frozen=True)
class AgentModels:
    """The models of one agent, the first answers, the others follow when it fails.

    `line` says it for a banner; `problem` says what is wrong and what to set, None when nothing.
    """

    agent: str
    chain: tuple[ModelRef, ...]
    tier: Tier
    line: str
    problem: str | None = None


@dataclass(frozen=True)
class Selection:
    """What Settings mean for models. `endpoints` holds every provider that can be named.

    `defaults` names the model of each provider that has one, `configured` those in config.yaml.
    """

    endpoints: Mapping[str, Endpoint]
    agents: Mapping[str, AgentModels]
    defaults: Mapping[str, str] = field(default_factory=dict)
    configured: frozenset[str] = frozenset()

    @property
    def meant(self) -> frozenset[str]:
        """The providers that someone chose: in the config, as an agent's, or by a key that does.

        A key may open several presets, of which the others would only repeat the same models.
        """
        used = {ref.provider for one in self.agents.values() for ref in one.chain}
        return self.configured | used | frozenset(self.defaults)

    @property
    def problems(self) -> tuple[str, ...]:
        """What the operator should set, one text each."""
        found = (models.problem for models in self.agents.values())
        return tuple(dict.fromkeys(problem for problem in found if problem))

    def chain(self, agent: str) -> tuple[ModelRef, ...]:
        """Return an agent's models, empty when none is configured."""
        return self.agents[agent].chain

    def resolve(self, text: str) -> ModelRef:
        """Return the model that a person named. Raises ConfigurationError for an unknown one."""
        return _ref(text, "model", self.endpoints)


def select(settings: Settings) -> Selection:
    """Work out the providers and every agent's models. Raises ConfigurationError."""
    configured = {
        name: _configured(name, provider, settings)
        for name, provider in settings.config.providers.items()
    }
    endpoints = _known(settings) | configured
    agents = {
        name: _agent(name, agent, endpoints, settings)
        for name, agent in settings.config.agents.items()
    }
    used = {ref.provider for models in agents.values() for ref in models.chain}
    kept = {
        name: endpoint
        for name, endpoint in endpoints.items()
        if name in configured or name in used or endpoint.api_key or name == LOCAL_PROVIDER
    }
    return Selection(
        endpoints=kept,
        agents=agents,
        defaults=dict(_defaults(kept, settings)),
        configured=frozenset(configured),
    )


def _defaults(names: Iterable[str], settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the default model of each provider that has one."""
    for name in names:
        configured = settings.config.providers.get(name)
        preset = _preset(name, configured) if configured else PRESETS.get(name)
        if preset and preset.default_model:
            yield name, preset.default_model
        elif name == LOCAL_PROVIDER and not configured:
            yield name, _local_model(settings)


def _local_model(settings: Settings) -> str:
    return settings.environment.get(LOCAL_NAME) or LOCAL_MODEL


def _known(settings: Settings) -> dict[str, Endpoint]:
    """Return the presets, which need no entry in the config, and the local model."""
    found = {name: _from_preset(name, preset, settings) for name, preset in PRESETS.items()}
    url = settings.environment.get(LOCAL_URL)
    if url:
        if fault := _fault(url):
            raise ConfigurationError(f"{LOCAL_URL}: {fault}, such as http://127.0.0.1:18080/v1")
        found[LOCAL_PROVIDER] = Endpoint(name=LOCAL_PROVIDER, base_url=_with_path(url), api_key="")
    return found


def _with_path(url: str) -> str:
    """Return a server's address with the path that its API has."""
    bare = url.rstrip("/")
    return bare if bare.endswith("/v1") else f"{bare}/v1"


def _from_preset(name: str, preset: Preset, settings: Settings) -> Endpoint:
    return Endpoint(
        name=name,
        base_url=preset.base_url,
        api_key=_key(settings, preset.api_key_env),
        api_key_env=preset.api_key_env,
        type=preset.type,
        dialect=preset.dialect,
    )


def _key(settings: Settings, variable: str | None) -> str:
    """Return a key without the line end or spaces that copying brings along."""
    return (settings.secret(variable) or "").strip()


def _keys(
    provider: ProviderConfig, preset: Preset | None, settings: Settings
) -> list[tuple[str, str]]:
    """Return variables with their keys, those that are set; the first alone when none is."""
    of_preset = (preset.api_key_env,) if preset and preset.api_key_env else ()
    variables = provider.key_variables or of_preset
    found = [(variable, _key(settings, variable)) for variable in variables]
    set_ones = [(variable, key) for variable, key in found if key]
    return set_ones or found[:1] or [("", "")]


def _configured(name: str, provider: ProviderConfig, settings: Settings) -> Endpoint:
    """Return the endpoint of an entry in the config."""
    place = f"providers.{name}"
    preset = _preset(name, provider)
    kind = provider.type or (preset.type if preset else "")
    if kind not in provider_types():
        raise ConfigurationError(
            f"{place}.type: {kind!r} is no type of provider{_near(kind, provider_types())}"
        )
    base_url = provider.base_url or (preset.base_url if preset else None)
    if base_url is None:
        raise ConfigurationError(
            f"{place}.base_url: needed with `type`, such as http://127.0.0.1:8080/v1"
        )
    if fault := _fault(base_url):
        raise ConfigurationError(f"{place}.base_url: {fault}, such as https://host:8080/v1")
    for header, value in provider.headers.items():
        # No message shows the value: it may be a key.
        if not (_HEADER.fullmatch(header) and value.isascii() and value.isprintable()):
            raise ConfigurationError(
                f"{place}.headers.{header}: a header has a name of letters, digits and dashes,"
                " and a value of one line of ASCII"
            )
    (variable, key), *spare = _keys(provider, preset, settings)
    return Endpoint(
        name=name,
        base_url=base_url,
        api_key=key,
        api_key_env=variable or None,
        spare_keys=tuple(spare),
        headers=dict(provider.headers),
        timeout=provider.timeout,
        first_byte_timeout=provider.first_byte_timeout,
        stall_timeout=provider.stall_timeout,
        ping_timeout=provider.ping_timeout,
        type=kind,
        dialect=_dialect(kind, base_url, preset),
    )


def _dialect(kind: str, base_url: str, preset: Preset | None) -> Dialect:
    """Return how a service wants its format: a known one at its address, however it is named."""
    if preset and preset.type == kind:
        return preset.dialect
    address = (kind, base_url.rstrip("/"))
    services = (known for known in PRESETS.values() if not known.keyless)
    there = (known.dialect for known in services if (known.type, known.base_url) == address)
    return next(there, preset.dialect if preset else Dialect())


def _fault(url: str) -> str | None:
    """Return what is wrong with an address, without repeating a password in it."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        return f"no valid address ({error})"
    return None if named else "an address needs a host"


def _preset(name: str, provider: ProviderConfig) -> Preset | None:
    """Return the preset that an entry names, or is named after when it says nothing else."""
    wanted = provider.preset or (None if provider.type else name)
    if wanted is None:
        return None
    if wanted in PRESETS:
        return PRESETS[wanted]
    if provider.preset:
        raise ConfigurationError(
            f"providers.{name}.preset: {wanted!r} is unknown{_near(wanted, PRESETS)}"
        )
    raise ConfigurationError(
        f"providers.{name}: {name!r} is no known service; give it `type: openai` and `base_url`,"
        f" or name one with `preset`{_near(name, PRESETS)}"
    )


def _near(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}"


def _agent(
    name: str, agent: AgentConfig, endpoints: Mapping[str, Endpoint], settings: Settings
) -> AgentModels:
    place = f"agents.{name}"
    first = (
        _ref(agent.model, f"{place}.model", endpoints)
        if agent.model
        else _automatic(endpoints, settings)
    )
    others = [
        _ref(text, f"{place}.fallbacks.{n}", endpoints) for n, text in enumerate(agent.fallbacks)
    ]
    chain = tuple(dict.fromkeys([*([first] if first else []), *others]))
    if not chain:
        advice = _no_model(name, endpoints, settings)
        return AgentModels(name, (), Tier.NONE, f"{name} cannot answer: {advice}", advice)
    problem = next(_missing_keys(chain, endpoints), None)
    tier = Tier.TOY if chain[0] == ModelRef(LOCAL_PROVIDER, LOCAL_MODEL) else Tier.FULL
    return AgentModels(name, chain, tier, _line(name, chain, endpoints, tier), problem)


def _ref(text: str, place: str, endpoints: Mapping[str, Endpoint]) -> ModelRef:
    try:
        ref = ModelRef.parse(text)
    except ValueError as error:
        raise ConfigurationError(f"{place}: {error}, such as openai/gpt-6-sol") from error
    if ref.provider in endpoints:
        return ref
    if ref.provider == LOCAL_PROVIDER:
        raise ConfigurationError(
            f"{place}: the local model does not run here; start with it (habakkuk up) or set"
            f" {LOCAL_URL}"
        )
    preset = PRESETS.get(ref.provider)
    if preset and preset.api_key_env:
        raise ConfigurationError(f"{place}: {ref.provider}: {_set_key(preset.api_key_env)}")
    raise ConfigurationError(
        f"{place}: {ref.provider!r} is no provider; add it under `providers:`"
        f"{_near(ref.provider, tuple(endpoints))}"
    )


def _automatic(endpoints: Mapping[str, Endpoint], settings: Settings) -> ModelRef | None:
    """Return the model for an agent that names none, None when there is none to choose.

    Configured providers first, in their order. Only without any: the presets whose key is set,
    in theirs, then the local model.
    """
    if settings.config.providers:
        for name, provider in settings.config.providers.items():
            preset = _preset(name, provider)
            if preset and preset.default_model and (preset.keyless or endpoints[name].api_key):
                return ModelRef(name, preset.default_model)
        return None
    for known in PRESETS.values():
        if known.default_model and endpoints[known.name].api_key:
            return ModelRef(known.name, known.default_model)
    if LOCAL_PROVIDER in endpoints:
        return ModelRef(LOCAL_PROVIDER, _local_model(settings))
    return None


def _no_model(agent: str, endpoints: Mapping[str, Endpoint], settings: Settings) -> str:
    names = list(settings.config.providers)
    if not names:
        return NO_MODEL
    for name in names:
        endpoint = endpoints[name]
        if endpoint.api_key_env and not endpoint.api_key:
            return f"{name}: {_set_key(endpoint.api_key_env)}"
    return f"agents.{agent}.model: name a model, such as {names[0]}/MODEL"


def _missing_keys(chain: tuple[ModelRef, ...], endpoints: Mapping[str, Endpoint]) -> Iterator[str]:
    for ref in chain:
        endpoint = endpoints[ref.provider]
        if endpoint.api_key_env and not endpoint.api_key:
            yield f"{ref.provider}: {_set_key(endpoint.api_key_env)}"


def _line(
    agent: str, chain: tuple[ModelRef, ...], endpoints: Mapping[str, Endpoint], tier: Tier
) -> str:
    endpoint = endpoints[chain[0].provider]
    if tier is Tier.TOY:
        return (
            f"{agent} answers with {chain[0]}, a toy that runs on this machine; for real answers"
            " set a key such as OPENAI_API_KEY and start again"
        )
    source = endpoint.api_key_env or endpoint.address
    state = ", which is not set" if endpoint.api_key_env and not endpoint.api_key else ""
    then = f", then {', '.join(map(str, chain[1:]))}" if chain[1:] else ""
    return f"{agent} answers with {chain[0]} ({source}{state}){then}"


def _set_key(variable: str) -> str:
    return f"{variable} is not set; set it in the environment or in $HABAKKUK_HOME/.env"
