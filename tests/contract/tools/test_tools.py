"""What every tool keeps to. Tools are found, never listed: a new one is tested by being there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from habakkuk.core.errors import ConfigurationError, ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.types import ToolSpec
from habakkuk.tools.contract import Risk, Tool, ToolContext
from habakkuk.tools.registry import ToolRegistry

PACKAGES = ("habakkuk.tools", "tests.fakes.toolset")
REGISTRY = ToolRegistry(PACKAGES)
TOOLS = [
    pytest.param(tool, id=f"{toolset}/{name}")
    for toolset, tools in REGISTRY._toolsets.items()
    for name, tool in tools.items()
]
# Names that every provider takes, and sizes that leave room for the conversation.
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
LONGEST_DESCRIPTION = 2000
LONGEST_TIMEOUT = 3600


def context(tmp_path: Path) -> ToolContext:
    return ToolContext("call_1", "ses_1", "turn_1", "habakkuk", Interrupt(), tmp_path / "w")


@pytest.mark.parametrize("tool", TOOLS)
def test_its_name_is_one_that_every_provider_takes(tool: Tool) -> None:
    assert NAME.fullmatch(tool.name)


@pytest.mark.parametrize("tool", TOOLS)
def test_it_is_described_for_the_model(tool: Tool) -> None:
    assert tool.description.endswith(".")
    assert len(tool.description) <= LONGEST_DESCRIPTION
    assert tool.spec == ToolSpec(tool.name, tool.description, tool.args.model_json_schema())


@pytest.mark.parametrize("tool", TOOLS)
def test_its_schema_is_an_object_that_forbids_what_it_does_not_name(tool: Tool) -> None:
    schema = tool.spec.parameters
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("tool", TOOLS)
def test_its_facts_are_sound(tool: Tool) -> None:
    assert isinstance(tool.risk, Risk)
    assert 0 < tool.timeout_s <= LONGEST_TIMEOUT
    assert not tool.replayable or tool.risk in {Risk.READ, Risk.NETWORK}


@pytest.mark.parametrize("tool", TOOLS)
def test_an_unknown_argument_is_an_error_that_the_model_can_mend(tool: Tool) -> None:
    with pytest.raises(ToolError, match="zzz_unknown: Extra inputs are not permitted") as caught:
        tool.parse({"zzz_unknown": 1})
    assert str(caught.value).startswith(f"{tool.name}: the arguments do not fit its schema: ")


@pytest.mark.parametrize("tool", TOOLS)
def test_missing_arguments_are_named(tool: Tool) -> None:
    for name in tool.spec.parameters.get("required", []):
        with pytest.raises(ToolError, match=f"{name}: Field required"):
            tool.parse({})


@pytest.mark.parametrize("tool", TOOLS)
def test_arguments_of_a_wrong_type_are_named(tool: Tool) -> None:
    for name in tool.spec.parameters["properties"]:
        with pytest.raises(ToolError, match=f"{name}"):
            tool.parse({name: {"an": ["object"]}})


def test_the_models_view_is_sorted_and_the_same_in_every_process() -> None:
    specs = REGISTRY.specs(["core"])
    assert [spec.name for spec in specs] == sorted(spec.name for spec in specs)
    assert specs == ToolRegistry(PACKAGES).specs(["core"])


def test_the_test_tools_are_found_only_where_they_are_asked_for() -> None:
    assert {"ask", "effect", "look", "misbehave"} <= set(REGISTRY.of(["core"]))
    assert "misbehave" not in ToolRegistry().of(["core"])


def test_an_unknown_toolset_adds_nothing() -> None:
    assert REGISTRY.of(["nothing"]) == {}
    assert REGISTRY.specs([]) == ()


def test_two_tools_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (Path(__file__).parents[2] / "fakes/toolset/core/look.py").read_text()
    folder = tmp_path / "doubled_tools" / "core"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "../__init__.py"):
        (folder / name).touch()
    (folder / "look.py").write_text(source)
    (folder / "again.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError, match="two tools are named 'look' in 'core'"):
        ToolRegistry(["doubled_tools"])


def test_a_tool_that_only_reads_may_run_twice(tmp_path: Path) -> None:
    """The promise of `replayable`, kept by the test tool that declares it."""
    look = REGISTRY.of(["core"])["look"]
    outputs = [look.run(look.parse({}), context(tmp_path)) for _ in range(2)]
    assert outputs[0] == outputs[1]
