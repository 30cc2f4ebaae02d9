"""The table of permission modes (seed, Permissions)."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.schema import PermissionMode
from habakkuk.tools.contract import Risk, Tool, ToolArgs, ToolContext, ToolOutput
from habakkuk.tools.core.fetch_url import FetchUrlArgs, fetch_url
from habakkuk.tools.permissions import Taint, Verdict, decide

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
MODES = list(PermissionMode)
WORKSPACE = Path("/srv/agent/workspace")


class Args(ToolArgs):
    path: str = "a.txt"


def a_tool(risk: Risk, *, own_state: bool = False, paths: bool = True) -> Tool:
    def run(args: Args, context: ToolContext) -> ToolOutput:
        return ToolOutput("")

    return Tool(
        name="thing",
        description="",
        args=Args,
        run=run,
        risk=risk,
        timeout_s=1,
        replayable=False,
        own_state=own_state,
        paths=(lambda args: [args.path]) if paths else None,
    )


def verdicts(tool: Tool, path: str = "a.txt", *, tainted: bool = False) -> list[Verdict]:
    """Return the verdict of each mode, in the order of the seed's table."""
    args = Args(path=path)
    taint = Taint(said="known".__eq__) if tainted else None
    return [decide(mode, tool, args, WORKSPACE, taint).verdict for mode in MODES]


def test_the_modes_are_those_of_the_table() -> None:
    assert [str(mode) for mode in MODES] == ["read-only", "ask", "workspace", "full"]


@pytest.mark.parametrize(
    ("risk", "expected"),
    [
        (Risk.READ, [ALLOW, ALLOW, ALLOW, ALLOW]),
        (Risk.WRITE, [DENY, ASK, ALLOW, ALLOW]),
        (Risk.EXECUTE, [DENY, ASK, ASK, ALLOW]),
        (Risk.NETWORK, [DENY, ASK, ASK, ALLOW]),
    ],
)
def test_each_risk_in_each_mode(risk: Risk, expected: list[Verdict]) -> None:
    assert verdicts(a_tool(risk)) == expected


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "sub/../../x", "/srv/agent/workspace-evil/x"]
)
def test_writing_outside_the_workspace_is_asked_for(path: str) -> None:
    assert verdicts(a_tool(Risk.WRITE), path)[2] is ASK


@pytest.mark.parametrize("path", ["a", "sub/a", "/srv/agent/workspace/a"])
def test_writing_inside_is_not(path: str) -> None:
    assert verdicts(a_tool(Risk.WRITE), path)[2] is ALLOW


def test_a_writer_that_names_no_paths_is_asked_for() -> None:
    assert verdicts(a_tool(Risk.WRITE, paths=False))[2] is ASK


def test_own_records_are_free_in_workspace_only() -> None:
    assert verdicts(a_tool(Risk.WRITE, own_state=True), "/etc/x") == [DENY, ASK, ALLOW, ALLOW]


def test_an_address_of_its_own_making_is_asked_for_in_such_a_turn() -> None:
    tool = a_tool(Risk.NETWORK)
    assert verdicts(tool, "made up", tainted=True) == [DENY, ASK, ASK, ASK]
    assert verdicts(tool, "known", tainted=True) == [DENY, ASK, ASK, ALLOW]


def test_commands_of_a_turn_that_read_outside_content_are_always_asked_for() -> None:
    assert verdicts(a_tool(Risk.EXECUTE), tainted=True) == [DENY, ASK, ASK, ASK]


def test_known_words_do_not_make_a_known_header_of_another_address() -> None:
    # The user pasted the one, a page named the other: nobody has said the one goes to the other.
    said = {"https://evil.example/", "what the user pasted"}
    taint = Taint(said=said.__contains__)
    plain, loaded = (
        FetchUrlArgs(url="https://evil.example/", headers=headers)
        for headers in ({}, {"x-data": "what the user pasted"})
    )
    full = PermissionMode.FULL
    assert decide(full, fetch_url, plain, WORKSPACE, taint).verdict is ALLOW
    assert decide(full, fetch_url, loaded, WORKSPACE, taint).verdict is ASK
