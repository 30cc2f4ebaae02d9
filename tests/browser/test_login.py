"""Signing in and out as people do: by a link, with a password, by the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from habakkuk.accounts.types import Role
from tests.browser.attacks import ATTACKS
from tests.browser.window import violations
from tests.integration.web.served import Served

Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Visit]:
    """Open browsers that have never been here; no script may fail in them."""
    opened: list[Page] = []
    faults: list[str] = []

    def visit_one(width: int = 1280, scheme: Literal["light", "dark"] = "light") -> Page:
        context = browser.new_context(
            base_url=served.base_url, viewport={"width": width, "height": 800}, color_scheme=scheme
        )
        context.set_default_timeout(15_000)
        opened.append(context.new_page())
        opened[-1].on("pageerror", lambda error: faults.append(str(error)))
        return opened[-1]

    yield visit_one
    for page in opened:
        page.context.close()
    assert faults == []


def link(served: Served, name: str | None = None) -> str:
    parts = served.stack.container
    return f"/login#{parts.logins.make_link(parts.accounts.find(name))}"


def arrived(page: Page, place: str = "/") -> None:
    page.wait_for_url(lambda url: url.partition("//")[2].partition("/")[2] == place[1:])
    expect(page.locator("#theme")).to_be_visible()


def test_a_first_login_by_link_and_an_answer(served: Served, visit: Visit) -> None:
    served.stack.start()
    page = visit()
    page.goto(link(served))
    arrived(page)
    box = page.get_by_label("Message", exact=True)
    box.fill("hello [[tokens 20]]")
    box.press("Enter")
    expect(page.locator(".message.agent")).to_contain_text("echo: hello")
    page.reload()
    expect(page.locator(".message.agent")).to_contain_text("echo: hello")


def test_the_secret_stays_in_no_address(served: Served, visit: Visit) -> None:
    page = visit()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    address = link(served)
    secret = address.partition("#")[2]
    page.goto(address)
    arrived(page)
    page.go_back()
    assert secret not in page.url
    assert not [url for url in asked[1:] if secret in url.partition("#")[0]]


def test_signing_out_and_in_again_leads_back(served: Served, visit: Visit) -> None:
    page = visit()
    page.goto(link(served))
    arrived(page)
    page.locator("#sign-out").click()
    page.wait_for_url("**/login")
    assert page.context.cookies() == []
    page.goto("/overview")
    expect(page.get_by_role("heading", name="Sign in to Habakkuk")).to_be_visible()
    page.get_by_label("Your login link").fill(served.base_url + link(served))
    page.get_by_role("button", name="Sign in", exact=True).click()
    arrived(page, "/overview")


def test_a_page_whose_session_ended_leads_to_the_login_page(served: Served, visit: Visit) -> None:
    page = visit()
    page.goto(link(served))
    arrived(page)
    served.stack.container.logins.sign_out_everywhere(served.stack.owner)
    box = page.get_by_label("Message", exact=True)
    box.fill("hello")
    box.press("Enter")
    expect(page.get_by_role("heading", name="Sign in to Habakkuk")).to_be_visible()


def test_a_used_link_says_what_to_do(served: Served, visit: Visit) -> None:
    address = link(served)
    first, second = visit(), visit()
    first.goto(address)
    arrived(first)
    second.goto(address)
    expect(second.get_by_role("alert")).to_contain_text("used already")
    expect(second.get_by_role("alert")).to_contain_text("./scripts/habakkuk login-link")
    second.goto(link(served))
    arrived(second)


def test_a_second_person_sees_nothing_of_the_first(served: Served, visit: Visit) -> None:
    served.send("a secret of the owner", "mine")
    served.stack.container.accounts.add("mary")
    mary, owner = visit(), visit()
    owner.goto(link(served))
    arrived(owner)
    expect(owner.locator("body")).to_contain_text("a secret of the owner")
    mary.goto(link(served, "mary"))
    arrived(mary)
    for place in ("/", "/overview", "/c/mine"):
        mary.goto(place)
        expect(mary.locator("#theme")).to_be_visible()
        assert "a secret" not in mary.content()
    expect(mary.get_by_role("link", name="Jobs")).to_have_count(0)


def test_a_viewer_is_told_instead_of_offered_to_write(served: Served, visit: Visit) -> None:
    served.stack.container.accounts.add("vera", Role.VIEWER)
    page = visit()
    page.goto(link(served, "vera"))
    arrived(page)
    expect(page.locator(".talk")).to_contain_text("You may read here, not write.")
    expect(page.locator("#message")).to_have_count(0)


def test_a_password_by_the_keyboard_alone(served: Served, visit: Visit) -> None:
    parts = served.stack.container
    parts.logins.set_password(served.stack.owner, "correct horse battery")
    page = visit()
    page.goto("/login")
    page.get_by_label("Name").focus()
    page.keyboard.type("owner")
    page.keyboard.press("Tab")
    page.keyboard.type("wrong horse battery")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    page.get_by_label("Password", exact=True).fill("")
    page.get_by_label("Password", exact=True).focus()
    page.keyboard.type("correct horse battery")
    page.keyboard.press("Enter")
    arrived(page)


def test_a_link_by_the_keyboard_alone(served: Served, visit: Visit) -> None:
    page = visit()
    page.goto("/login")
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "pasted":
            break
    page.keyboard.insert_text(served.base_url + link(served))
    page.keyboard.press("Enter")
    arrived(page)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_on_the_login_page(
    served: Served, visit: Visit, width: int, scheme: Literal["light", "dark"]
) -> None:
    served.stack.container.logins.set_password(served.stack.owner, "correct horse battery")
    page = visit(width, scheme)
    page.goto("/login")
    assert violations(page) == []
    page.goto("/login#wrong")
    expect(page.get_by_role("alert")).to_contain_text("used already")
    assert violations(page) == []


def test_hostile_words_in_a_failed_login_are_text(served: Served, visit: Visit) -> None:
    served.stack.container.logins.set_password(served.stack.owner, "correct horse battery")
    page = visit()
    for attack in ATTACKS[:4]:
        page.goto("/login")
        page.get_by_label("Name").fill(attack.replace("\n", " "))
        page.get_by_label("Password", exact=True).fill(attack.replace("\n", " "))
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
        assert page.evaluate("() => window.__hit ?? null") is None
    page.goto("/login?next=javascript:window.__hit=1#<img src=x onerror=window.__hit=1>")
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.evaluate("() => window.__hit ?? null") is None
