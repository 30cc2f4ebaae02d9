"""Chromium against the real stack: a container, a Runner, a fake model, the app on a socket.

The windows carry a token in a header: what signing in adds has tests of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol

import pytest
from playwright.sync_api import Browser, expect

from habakkuk.accounts.types import Scope
from tests.browser.chromium import launched
from tests.browser.window import Window
from tests.fakes.fixtures import model, served, stack
from tests.integration.web.served import Served

__all__ = ["model", "served", "stack"]

# A condition that comes true late, on a busy machine, is true all the same.
expect.set_options(timeout=15_000)


class Opening(Protocol):
    """Opens a window; `base_url` goes another way to the server."""

    def __call__(
        self,
        width: int = 1280,
        scheme: Literal["light", "dark"] = "light",
        *,
        script: bool = True,
        base_url: str | None = None,
    ) -> Window: ...


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, ended with the module: while it runs nothing else here may use asyncio."""
    with launched() as running:
        yield running


@pytest.fixture
def opening(browser: Browser, served: Served) -> Iterator[Opening]:
    """Open windows; at the end nothing may have failed in them or gone outside."""
    windows: list[Window] = []

    def open_one(
        width: int = 1280,
        scheme: Literal["light", "dark"] = "light",
        *,
        script: bool = True,
        base_url: str | None = None,
    ) -> Window:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=scheme,
            java_script_enabled=script,
            extra_http_headers={"Authorization": f"Bearer {_token(served)}"},
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(15_000)
        windows.append(Window(served, context.new_page(), base_url or served.base_url))
        return windows[-1]

    yield open_one
    for window in windows:
        window.page.context.close()
        assert window.faults == []
        assert window.outside == []


@pytest.fixture
def window(opening: Opening) -> Window:
    """A window at 1280 by 800; turns run."""
    opened = opening()
    opened.served.stack.start()
    return opened


def _token(served: Served) -> str:
    return served.stack.container.accounts.create_token("browser", tuple(Scope))
