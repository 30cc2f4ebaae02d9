"""What a mode does with a tool, in general."""

from __future__ import annotations

import pytest

from habakkuk.core.config.schema import PermissionMode
from habakkuk.tools.contract import Tool
from habakkuk.tools.core.exec import exec as exec_tool
from habakkuk.tools.core.read_file import read_file
from habakkuk.tools.core.write_file import write_file
from habakkuk.tools.outlook import Outlook, outlook
from habakkuk.tools.permissions import Verdict

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY


@pytest.mark.parametrize(
    ("mode", "tool", "expected"),
    [
        (PermissionMode.READ_ONLY, read_file, Outlook(ALLOW, ALLOW, ALLOW)),
        (PermissionMode.READ_ONLY, write_file, Outlook(DENY, DENY, DENY)),
        (PermissionMode.ASK, write_file, Outlook(ASK, ASK, ASK)),
        (PermissionMode.WORKSPACE, write_file, Outlook(ALLOW, ASK, ALLOW)),
        (PermissionMode.WORKSPACE, exec_tool, Outlook(ASK, ASK, ASK)),
        (PermissionMode.FULL, exec_tool, Outlook(ALLOW, ALLOW, ASK)),
    ],
)
def test_the_outlook_is_what_the_gate_decides(
    mode: PermissionMode, tool: Tool, expected: Outlook
) -> None:
    assert outlook(mode, tool) == expected
