"""Find the back-ends: one module each, never listed anywhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

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
