from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from habakkuk.bootstrap import build
from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import load_settings
from web.application import application


@pytest.fixture
def app(home: Path) -> Iterator[Flask]:
    """The application without servers: what the guards turn away never reaches one."""
    environment = read_environment(
        {
            "HABAKKUK_HOME": str(home),
            "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
            "REDIS_URL": "redis://127.0.0.1:1/0",
        }
    )
    container = build(load_settings(environment), name="test")
    # No Redis, rather than one that would be tried.
    yield application(replace(container, redis=None))
    container.close()
