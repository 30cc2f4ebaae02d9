"""Find the back-ends: one module each, never listed anywhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from habakkuk.core.config.searching import SearchConfig
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.nearest import advice
from habakkuk.search import backends
from habakkuk.search.contract import BackendKind


def kinds() -> Mapping[str, BackendKind]:
    """Return every kind of back-end by its name."""
    found: dict[str, BackendKind] = {}
    for module in pkgutil.iter_modules(backends.__path__):
        kind = importlib.import_module(f"{backends.__name__}.{module.name}").BACKEND
        if found.setdefault(kind.name, kind) is not kind:
            raise AssertionError(f"two search back-ends are named {kind.name!r}")
    return found


def check(config: SearchConfig) -> Mapping[str, BackendKind]:
    """Return the kinds by their names. Raises ConfigurationError for a name that is none of them.

    One error names every fault, each on a line of its own.
    """
    known = kinds()
    faults = [
        f"search.backends.{number}: there is no search back-end {one.backend!r};"
        f" {advice(one.backend, sorted(known), 'there are')}"
        for number, one in enumerate(config.backends)
        if one.backend not in known
    ]
    if faults:
        raise ConfigurationError("\n".join(faults))
    return known
