"""Writing a whole file."""

from __future__ import annotations

from pydantic import Field

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.texts import encode
from habakkuk.tools.workspace import open_workspace


class WriteFileArgs(ToolArgs):
    """Which file, and all that it shall hold."""

    path: str = Field(description="The file, from the workspace on; missing folders are made.")
    content: str = Field(description="The whole content. An existing file is replaced.")


@tool(risk=Risk.WRITE, timeout_s=30, paths=lambda args: [args.path])
def write_file(args: WriteFileArgs, context: ToolContext) -> ToolOutput:
    """Write a text file into the workspace, whole; an existing one is replaced.

    To change a part of a file use edit_file.
    """
    context.services.commands.refuse_writing(context.agent)
    data = encode(args.content, "the content")
    with open_workspace(context.workspace) as workspace:
        replaced = workspace.write(args.path, data)
    done = "Replaced" if replaced else "Wrote"
    return ToolOutput(f"{done} {args.path} ({len(data)} bytes).")
