"""Row 35: secrets in what is said when something fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.tools.registry import ToolRegistry
from habakkuk.tools.services import ToolServices
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, redirect
from tests.fakes.toolbox import call, context, services

TOOLS = ToolRegistry().of(["core"])
CANARY = "canary-91ab"


@pytest.mark.parametrize(
    "url",
    [
        f"http://unknown.example/bot{CANARY}/getMe",
        f"http://127.0.0.1/?token={CANARY}",
        f"http://user:{CANARY}@site.example/",
        f"ftp://site.example/{CANARY}",
        f"http://turns.example/#{CANARY}",
    ],
)
def test_a_refused_address_is_not_repeated(
    url: str, network: FakeNetwork, pages: PageServer, tmp_path: Path
) -> None:
    network.names |= {"site.example": [[PUBLIC]], "turns.example": [[PUBLIC]]}
    pages.answers["/"] = redirect(f"http://127.0.0.1/{CANARY}")
    where = context(tmp_path / "w", services(tmp_path, web=network.web()))
    output = call(TOOLS["fetch_url"], where, url=url)
    assert output.is_error
    assert CANARY not in output.text


def test_what_tools_share_shows_no_environment(tmp_path: Path) -> None:
    """These objects can stand in a traceback or a log line."""
    made: ToolServices = services(tmp_path, {"LC_SECRET": CANARY, "API_KEY": CANARY})
    assert CANARY not in repr(made)
    assert CANARY not in repr(context(tmp_path, made))
