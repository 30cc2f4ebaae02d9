"""Files of any kind in the chat: sent as those of a channel are, refused with the true reason."""

from __future__ import annotations

import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.conftest import Opening
from tests.browser.test_files import PNG, attached, choose
from tests.browser.window import Window

CSV = FilePayload(name="june.csv", mimeType="text/csv", buffer=b"a,b\n1,2\n")
DRAWING = FilePayload(
    name="plan.svg", mimeType="image/svg+xml", buffer=b"<svg xmlns='http://www.w3.org/2000/svg'/>"
)
# Files are made where they are chosen: a test cannot hand over so much.
_DROP = """(box, sizes) => {
  const held = new DataTransfer();
  sizes.forEach((size, n) => held.items.add(new File([new Uint8Array(size)], `${n + 1}.bin`)));
  box.dispatchEvent(
    new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: held }));
}"""
_MB = 1_000_000


@pytest.mark.parametrize("width", [1280, 390])
def test_a_file_of_any_kind_is_sent_and_saved_again(opening: Opening, width: int) -> None:
    window = opening(width=width)
    window.served.stack.start()
    page = window.go()
    choose(window, CSV, PNG, DRAWING)
    expect(attached(window)).to_have_count(3)
    expect(attached(window).get_by_text("june.csv", exact=True)).to_be_visible()
    assert window.violations() == []
    answer = window.ask("Sum it up")
    expect(answer).to_contain_text("echo: ")
    sent = page.locator(".message.user")
    # Of what a browser does not show there is no broken picture.
    expect(sent.get_by_role("img")).to_have_count(1)
    expect(sent.get_by_role("link", name="plan.svg")).to_be_visible()
    with page.expect_download() as download:
        sent.get_by_role("link", name="june.csv").click()
    assert download.value.suggested_filename == "june.csv"
    assert download.value.path().read_bytes() == CSV["buffer"]
    folder = window.stack.home / "agents" / "habakkuk" / "workspace" / "inbox"
    assert sorted(path.suffix for path in folder.iterdir()) == [".csv", ".png", ".svg"]


def test_a_file_is_no_answer_to_a_question(window: Window) -> None:
    """It waits until that is answered, and the page says so."""
    window.served.send('[[tool clarify {"questions": [{"question": "Which one?"}]}]]', "ask")
    page = window.go("/c/ask")
    expect(window.box).to_have_attribute("placeholder", "Write your answer")
    choose(window, CSV)
    expect(window.box).to_have_attribute("placeholder", "Write; it waits for its turn")
    expect(page.locator(".composer").get_by_role("button", name="Answer")).to_have_count(0)
    window.button("Queue").click()
    expect(page.locator(".approval")).to_be_visible()


def test_the_page_lets_any_file_be_chosen(window: Window) -> None:
    window.go()
    picker = window.page.get_by_label("Files to attach")
    assert picker.get_attribute("accept") is None


@pytest.mark.parametrize(
    ("sizes", "taken", "said"),
    [
        ([25 * _MB + 1, 5], 1, "1.bin is too large; a file may have 25 MB."),
        ([1] * 22, 20, "21.bin, 22.bin are left out; at most 20 files go with one message."),
        (
            [20 * _MB, 20 * _MB, 5],
            2,
            "2.bin is left out; the files of one message may have 29 MB together.",
        ),
        (
            [25 * _MB + 1, 20 * _MB, 20 * _MB],
            1,
            "1.bin is too large; a file may have 25 MB. 3.bin is left out; the files of one",
        ),
    ],
)
def test_what_cannot_be_sent_is_named_with_the_limit(
    window: Window, sizes: list[int], taken: int, said: str
) -> None:
    window.go()
    window.box.evaluate(_DROP, sizes)
    expect(window.page.locator("#notes")).to_contain_text(said)
    expect(attached(window)).to_have_count(taken)


def test_as_much_as_the_page_takes_the_server_takes(window: Window) -> None:
    page = window.go()
    window.box.evaluate(_DROP, [15 * _MB, 14 * _MB])
    expect(attached(window)).to_have_count(2)
    window.ask("Keep them")
    expect(page.locator(".message.user").get_by_role("link")).to_have_count(2)
