"""The providers of a process: their types are found in the package, never listed.

A type's SDK is loaded when the first provider of it is used, or by `warm` at a worker's start;
nothing here imports one.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Mapping
from types import ModuleType

from habakkuk.core.errors import ConfigurationError
from habakkuk.llm import providers
from habakkuk.llm.contract import Endpoint, Provider


def provider_types() -> tuple[str, ...]:
    """Return the names of the provider packages."""
    found = pkgutil.iter_modules(providers.__path__)
    return tuple(sorted(module.name for module in found if module.ispkg))


def _adapter(kind: str) -> ModuleType:
    """Load the adapter of a type: a module with `build(endpoint)` and `warm()`."""
    if kind not in provider_types():
        known = ", ".join(provider_types())
        raise ConfigurationError(f"{kind!r} is no type of provider; known types: {known}")
    return importlib.import_module(f"{providers.__name__}.{kind}.adapter")


class Registry:
    """One provider for each endpoint and key, made at its first use. Thread-safe."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        """Keep the endpoints; nothing is loaded yet."""
        self._endpoints = dict(endpoints)
        self._made: dict[tuple[str, int], Provider] = {}
        self._lock = threading.Lock()

    def provider(self, name: str, key: int = 0) -> Provider:
        """Return the provider of this name, with the key at that place of `keys`.

        Raises ConfigurationError when there is none.
        """
        made = self._made.get((name, key))
        return made if made is not None else self._make(name, key)

    def keys(self, name: str) -> tuple[str, ...]:
        """Return the names of a provider's keys, the first choice first; never none."""
        endpoint = self._endpoints.get(name)
        return ("",) if endpoint is None else endpoint.keys

    def _make(self, name: str, key: int) -> Provider:
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            known = ", ".join(self._endpoints) or "none"
            raise ConfigurationError(
                f"no provider {name!r} is configured (there are: {known});"
                " add it under `providers:`"
            )
        with self._lock:
            if (name, key) not in self._made:
                self._made[name, key] = _adapter(endpoint.type).build(endpoint.with_key(key))
            return self._made[name, key]

    def warm(self) -> None:
        """Load the SDK of every type that is configured, and make the providers."""
        for kind in {endpoint.type for endpoint in self._endpoints.values()}:
            _adapter(kind).warm()
        for name in self._endpoints:
            self.provider(name)

    def close(self) -> None:
        """Close all connections; the registry can be used again."""
        with self._lock:
            made, self._made = self._made, {}
        for provider in made.values():
            provider.close()
