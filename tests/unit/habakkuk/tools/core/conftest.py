"""A workspace for the tools that work on files."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder
