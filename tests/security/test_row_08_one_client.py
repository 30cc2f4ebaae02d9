"""Row 8: whatever hands an address on goes through the same client."""

from __future__ import annotations

import ast
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_CLIENTS = {
    "aiohttp",
    "ftplib",
    "http.client",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "requests",
    "smtplib",
    "telnetlib",
    "urllib.request",
    "primp",
    "urllib3",
    "websocket",
    "websockets",
}
# The client itself; providers, whose addresses are the operator's own (blueprint §13); and the
# command line and `up`, which ask servers of this machine that they started.
_ALLOWED = ("habakkuk/core/http.py", "habakkuk/core/lines.py", "habakkuk/llm/")
_OF_THIS_MACHINE = ("habakkuk/ops/", "web/cli/")


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_only_the_guarded_client_speaks_to_the_outside() -> None:
    loose = [
        f"{path.relative_to(_ROOT)}: {', '.join(sorted(used))}"
        for folder in ("habakkuk", "web", "workers")
        for path in sorted((_ROOT / folder).rglob("*.py"))
        if not str(path.relative_to(_ROOT)).startswith((*_ALLOWED, *_OF_THIS_MACHINE))
        if (used := _imports(path) & _CLIENTS)
    ]
    assert loose == []
