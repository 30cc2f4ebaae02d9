"""One browser window as a person uses it, and what went wrong in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from tests.fakes.stack import Stack
from tests.integration.web.served import Served

_AXE = (Path(__file__).parent / "axe.min.js").read_text()
_WRONG = """async () => (await axe.run()).violations.map((found) => ({
  rule: found.id, where: found.nodes.map((node) => node.html.slice(0, 200)) }))"""


def violations(page: Page) -> list[dict[str, Any]]:
    """Return the rules of axe that a page breaks, and where."""
    page.evaluate(_AXE)
    found: list[dict[str, Any]] = page.evaluate(_WRONG)
    return found


@dataclass
class Window:
    """A page of the served stack. `outside` is what it asked of anybody else."""

    served: Served
    page: Page
    base_url: str
    faults: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", lambda request: self._asked(request.url))

    @property
    def stack(self) -> Stack:
        return self.served.stack

    @property
    def box(self) -> Locator:
        return self.page.get_by_label("Message", exact=True)

    @property
    def answers(self) -> Locator:
        return self.page.locator(".message.agent")

    @property
    def queue(self) -> Locator:
        return self.page.get_by_label("Queue", exact=True)

    def go(self, path: str = "/") -> Page:
        """Open a page and wait until its script has taken over."""
        self.page.goto(self.base_url + path)
        expect(self.page.locator("#theme")).to_be_visible()
        return self.page

    def say(self, text: str) -> None:
        """Write a message and send it."""
        self.box.fill(text)
        self.box.press("Enter")

    def ask(self, text: str) -> Locator:
        """Write a message and return its answer when it is there."""
        before = self.answers.count()
        self.say(text)
        expect(self.answers).to_have_count(before + 1)
        return self.answers.last

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def violations(self) -> list[dict[str, Any]]:
        """Return what axe finds wrong with the page as it stands."""
        return violations(self.page)

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type == "error" and "Content Security Policy" in said.text:
            self.faults.append(said.text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.base_url, "data:")):
            self.outside.append(url)
