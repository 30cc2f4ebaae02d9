"""What tools may use beside their arguments: made once a process, handed to every call."""

from __future__ import annotations

from dataclasses import dataclass, field

from habakkuk.core.http import OutsideHttp
from habakkuk.documents.reader import Documents
from habakkuk.search.service import Search
from habakkuk.tools.commands import Commands
from habakkuk.tools.files import ShownFiles
from habakkuk.tools.outputs import KeptOutputs


@dataclass(frozen=True)
class ToolServices:
    """The parts of a worker process that tools share. Without arguments it keeps nothing."""

    web: OutsideHttp = field(default_factory=OutsideHttp)
    commands: Commands = field(default_factory=Commands)
    outputs: KeptOutputs = field(default_factory=KeptOutputs)
    files: ShownFiles = field(default_factory=ShownFiles)
    documents: Documents = field(default_factory=Documents)
    search: Search = field(default_factory=Search)
