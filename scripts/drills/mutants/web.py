"""The web process with the mutant that DRILL_MUTANT names."""

from __future__ import annotations

from typing import Any

from habakkuk.core.config.environment import read_environment
from scripts.drills.mutants.apply import apply
from web import create_app as make


def create_app() -> Any:
    """Take the guard out, then make the app."""
    apply(read_environment().get("DRILL_MUTANT") or "none")
    return make()
