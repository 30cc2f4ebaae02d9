"""Images and PDFs in the chat, as a person sends them; other files: test_uploads."""

from __future__ import annotations

import io
from dataclasses import asdict

from playwright.sync_api import FilePayload, Locator, expect
from sqlalchemy import text

from habakkuk.agent.posting import Posts
from habakkuk.conversations.files import FILES, Attached
from habakkuk.conversations.types import ChatKind
from habakkuk.tools.posting import Post
from tests.browser.conftest import Opening
from tests.browser.window import Window
from tests.fakes.pictures import document, plain, written

PNG = FilePayload(name="red.png", mimeType="image/png", buffer=written(plain(40, 30), "PNG"))
PDF = FilePayload(name="plan.pdf", mimeType="application/pdf", buffer=document(1))
# What a browser hands over when something is pasted or dropped.
TRANSFER = """(box, [kind, name, type]) => {
  const held = new DataTransfer();
  held.items.add(new File([Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10])], name, { type }));
  const how = { bubbles: true, cancelable: true, clipboardData: held, dataTransfer: held };
  const made = kind === "paste" ? new ClipboardEvent(kind, how) : new DragEvent(kind, how);
  box.dispatchEvent(made);
}"""


def attached(window: Window) -> Locator:
    return window.page.get_by_label("Attached files", exact=True).get_by_role("listitem")


def choose(window: Window, *files: FilePayload) -> None:
    window.page.get_by_label("Files to attach").set_input_files(list(files))


def is_drawn(picture: Locator) -> bool:
    return bool(picture.evaluate("one => one.decode().then(() => one.naturalWidth === 40)"))


def test_an_image_is_attached_sent_and_still_there_after_a_reload(window: Window) -> None:
    page = window.go()
    choose(window, PNG)
    expect(attached(window).get_by_role("img", name="red.png")).to_be_visible()
    answer = window.ask("What is this?")
    expect(answer).to_contain_text("red.png was not shown to")
    expect(attached(window)).to_have_count(0)
    picture = page.locator(".message.user").get_by_role("img", name="red.png")
    assert is_drawn(picture)
    page.reload()
    assert is_drawn(picture)


def test_a_file_alone_can_be_sent_and_a_pdf_stands_as_its_name(window: Window) -> None:
    page = window.go()
    expect(window.button("Send")).to_be_disabled()
    choose(window, PDF)
    window.button("Send").click()
    expect(page.locator(".message.user").get_by_role("link", name="plan.pdf")).to_be_visible()
    expect(window.answers).to_have_count(1)


def test_a_file_is_taken_away_again(window: Window) -> None:
    window.go()
    choose(window, PNG, PDF)
    expect(attached(window)).to_have_count(2)
    window.button("Remove red.png").click()
    expect(attached(window)).to_have_count(1)
    expect(attached(window)).to_contain_text("plan.pdf")


def test_files_are_pasted_and_dropped(window: Window) -> None:
    window.go()
    window.box.evaluate(TRANSFER, ["paste", "pasted.png", "image/png"])
    expect(attached(window)).to_have_count(1)
    window.box.evaluate(TRANSFER, ["drop", "dropped.png", "image/png"])
    expect(attached(window)).to_have_count(2)


def test_without_a_script_files_are_links(opening: Opening) -> None:
    window = opening(width=390, scheme="dark")
    window.served.stack.start()
    window.go()
    choose(window, PNG)
    window.ask("Look")
    path = window.page.url.removeprefix(window.base_url)
    bare = opening(script=False)
    bare.page.goto(bare.base_url + path)
    expect(bare.page.get_by_role("link", name="red.png")).to_be_visible()


def test_what_the_agent_sends_stands_in_the_conversation_at_once(window: Window) -> None:
    page = window.go()
    window.ask("hello")
    parts = window.served.stack.container
    # As while it runs.
    (turn,) = parts.database.run(text("UPDATE turns SET ended = NULL RETURNING id"))
    desk = Posts(parts.database, parts.channels, parts.blobs.put_file, parts.live)
    blob = desk.store(io.BytesIO(b"the plan"), "text/plain")
    file = Attached(blob, "text/plain", "plan.txt", 8, "plan.txt")
    desk.post(turn.id, "call-1", Post(ChatKind.FILE, "Here it is.", {FILES: [asdict(file)]}))
    sent = page.get_by_label("Sent by the agent")
    expect(sent).to_contain_text("Here it is.")
    with page.expect_download() as download:
        sent.get_by_role("link", name="plan.txt").click()
    assert download.value.suggested_filename == "plan.txt"
    assert download.value.path().read_bytes() == b"the plan"
