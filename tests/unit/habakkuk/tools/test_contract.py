from __future__ import annotations

from habakkuk.tools.core.list_dir import list_dir


def test_a_tool_is_described_once_and_not_at_each_model_call() -> None:
    assert list_dir.spec is list_dir.spec
    assert list_dir.spec.parameters["properties"]["depth"]["maximum"] == 5
