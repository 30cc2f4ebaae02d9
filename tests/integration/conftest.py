from __future__ import annotations

from tests.fakes.fixtures import model, served, stack

__all__ = ["model", "served", "stack"]
