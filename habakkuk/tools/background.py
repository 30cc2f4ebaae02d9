"""What the tools for background processes share."""

from __future__ import annotations

from habakkuk.core.errors import ToolError
from habakkuk.processes.log import Part
from habakkuk.processes.types import Process
from habakkuk.processes.words import short, span, standing
from habakkuk.tools.contract import ToolContext
from habakkuk.tools.services import ProcessDesk


def desk_of(context: ToolContext) -> ProcessDesk:
    """Return who looks after processes. Raises ToolError where nobody does."""
    desk = context.services.processes
    if desk is None:
        raise ToolError("there are no background processes here")
    return desk


def found(context: ToolContext, process_id: str) -> Process:
    """Return a process of the calling agent. Raises ToolError when it has none of that id."""
    process = desk_of(context).find(context.agent, process_id.strip())
    if process is None:
        raise ToolError(
            "there is no background process of that id; process_list shows those that there are"
        )
    return process


def line(process: Process) -> str:
    """Return a process on one line."""
    ago = "" if process.ago is None else f", {span(process.ago)} ago"
    return f"{process.id} {standing(process)}{ago}: {short(process.command)}"


def shown(process: Process, part: Part) -> str:
    """Return a piece of output with what there is to know of it below."""
    if not part.data:
        return _silent(process, part)
    text = part.data.decode("utf-8", "replace").removesuffix("\n")
    return f"{text}\n{note(process, part)}"


def note(process: Process, part: Part) -> str:
    """Return which bytes of the output were shown, and how to go on."""
    more = f"; since {part.next} reads on" if part.next < part.end or process.state.alive else ""
    return f"[bytes {part.start} to {part.next} of {part.end}{more}; it {standing(process)}]"


def _silent(process: Process, part: Part) -> str:
    nothing = "no output" if part.end == 0 else f"nothing after byte {part.start} of {part.end}"
    return f"[{nothing}; it {standing(process)}]"
