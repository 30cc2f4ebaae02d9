"""Row 34: markup in whatever others write is text: in replies, titles, names, files and errors."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from sqlalchemy import text

from tests.browser.attacks import ATTACKS
from tests.fakes.pictures import document
from tests.security.door import Browser, Served
from tests.security.face import face

_RUN = "window.__hit=1"
# What has got past sanitizers: parsers that read twice, names that shadow, spaces in schemes.
_MORE = [
    f"<math><mi//xlink:href='data:x,<script>{_RUN}</script>'>",
    f'<svg></p><style><a id="</style><img src=1 onerror={_RUN}>">',
    f"<math><table><mglyph><style><!--</style><img title='--&gt;&lt;img src onerror={_RUN}&gt;'>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src onerror={_RUN}>",
    f"<svg><p><style><g title='</style><img src onerror={_RUN}>'>",
    f"<noembed><img title='</noembed><img src onerror={_RUN}>'></noembed>",
    f"<xmp><img title='</xmp><img src onerror={_RUN}>'></xmp>",
    f"<plaintext><img src=x onerror={_RUN}>",
    f"<listing>&lt;img src=x onerror={_RUN}&gt;</listing>",
    f"<select><template><style><!--</style><a rel='--><img src onerror={_RUN}>'>",
    "<a id=__hit><a id=__hit name=1>",
    "<form id=document><input name=cookie></form>",
    "<img name=getElementById>",
    f"<a href='java\tscript:{_RUN}'>x</a>",
    f"<a href='java\nscript:{_RUN}'>x</a>",
    f"<a href='\x01javascript:{_RUN}'>x</a>",
    f"<a href='&#106;avascript:{_RUN}'>x</a>",
    f"<a href='javascript&colon;{_RUN}'>x</a>",
    f"[x](java\tscript:{_RUN})",
    f"[x](\x01javascript:{_RUN})",
    f"[x](&#106;avascript:{_RUN})",
    f"[x](javascript&colon;{_RUN})",
    f"[x](javascript&#58;{_RUN})",
    f"[x](<javascript:{_RUN}>)",
    f"[x](<java\\script:{_RUN}>)",
    f"[x](javascript://%0a{_RUN})",
    f"[x](JAVASCRIPT:{_RUN})",
    f"[x](blob:http://localhost/{_RUN})",
    "[x](filesystem:http://localhost/)",
    "[x](view-source:http://localhost/)",
    "[x](intent://x#Intent;scheme=http;end)",
    "[x](ms-msdt:/id)",
    "[x](vscode://x)",
    "[x](chrome://settings)",
    "[x](tel:+1)",
    "[x](ws://evil.invalid)",
    f"[x][1]\n\n[1]: javascript:{_RUN}",
    f"[x]\n\n[x]: <javascript:{_RUN}>",
    f"<javascript:{_RUN}>",
    f"<vbscript:{_RUN}>",
    f"<data:text/html,<script>{_RUN}</script>>",
    f"[<img src=x onerror={_RUN}>](http://x)",
    f'[x](http://x "\'><img src=x onerror={_RUN}>")',
    f"![<img src=x onerror={_RUN}>](http://x)",
    f"![x](x'onerror='{_RUN})",
    f'![x" onerror="{_RUN}](y)',
    f"[^1]\n\n[^1]: <img src=x onerror={_RUN}>",
    f'```"onmouseover={_RUN}\nx\n```',
    f"```<img src=x onerror={_RUN}>\nx\n```",
    f"    <img src=x onerror={_RUN}>",
    f"<!-- --!><img src=x onerror={_RUN}> -->",
    f"<![CDATA[><img src=x onerror={_RUN}>]]>",
    f"<?php ?><img src=x onerror={_RUN}>",
    f"<a\x0bhref=javascript:{_RUN}>x</a>",
    f"<svg/onload={_RUN}//",
    f"<img src=x onerror={_RUN}//",
    f"\x00<img src=x onerror={_RUN}>",
    f"\ufeff<script>{_RUN}</script>",
    f"＜script＞{_RUN}＜/script＞",
    f"<ｓcript>{_RUN}</ｓcript>",
    f"%3Cscript%3E{_RUN}%3C/script%3E",
    f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"&amp;lt;img src=x onerror={_RUN}&amp;gt;",
    f"<details open ontoggle={_RUN}><summary>x</summary></details>",
    f"<dialog open onclose={_RUN}><form method=dialog><button>x</button></form></dialog>",
    f"<button popovertarget=x>x</button><div popover id=x onbeforetoggle={_RUN}>x</div>",
    f"<p onpointerenter={_RUN} class=x data-x=1 aria-label=x>x</p>",
    "<p class='composer rail message'>x</p>",
    f'<script type=importmap>{{"imports":{{"x":"data:text/javascript,{_RUN}"}}}}</script>',
    f"<script type=module>{_RUN}</script>",
    f"<script nonce=''>{_RUN}</script>",
    f"<object type=text/html data='data:text/html,<script>{_RUN}</script>'></object>",
]
_PAGES = ["/", "/c/c", "/overview", "/channels", "/jobs", "/usage"]
_MARKUP = ("<script>", "<img", "<svg", "<iframe", "onerror=", "onload=")


def test_markup_in_a_reply_is_text(served: Served) -> None:
    with face(served) as page:
        assert page.faults([*ATTACKS, *_MORE]) == []


def test_markup_over_several_pieces_is_text(served: Served) -> None:
    """One text after another in the same message, as parts of one document."""
    texts = ["\n\n".join([*ATTACKS, *_MORE]), "".join(_MORE), " ".join(ATTACKS)]
    texts += [f"{one}\n{other}" for one, other in zip(_MORE, reversed(_MORE), strict=True)]
    with face(served) as page:
        assert page.faults(texts) == []


class _Active(HTMLParser):
    """What of a page's HTML is neither its own nor text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        source = given.get("src") or given.get("href") or ""
        inline = tag == "script" and not source and given.get("type") != "application/json"
        own = source.startswith("/") and not source.startswith("//")
        ours = tag in {"script", "link", "img"}
        loads = ours or tag in {"iframe", "object", "embed", "base", "style"}
        if inline or (loads and source and not own) or (loads and not ours):
            self.found.append(f"{tag} {source}")
        self.found += [name for name in given if name.startswith("on") or name == "style"]
        if re.match(r"[\s\x00-\x20]*(?:javascript|data|vbscript):", source, re.IGNORECASE):
            self.found.append(source)


def _active(page: str) -> list[str]:
    parser = _Active()
    parser.feed(page)
    parser.close()
    return parser.found


def test_markup_in_names_and_titles_is_text_in_the_page_itself(browser: Browser) -> None:
    """Before any script: as the server writes it."""
    served = browser.served
    parts = served.stack.container
    browser.sign_in()
    for number, attack in enumerate([*ATTACKS, *_MORE][::3]):
        browser.post("/api/chat", {"conversation": f"n{number}", "text": attack})
        path = f"/api/conversations/n{number}"
        served.client.patch(path, json={"title": attack})
        parts.accounts.of_identity("webhook", "phone", f"id {number}", attack)
    parts.database.run(text("UPDATE jobs SET error = :attack"), attack="\n".join(ATTACKS))
    parts.database.run(text("UPDATE users SET name = :a WHERE role = 'owner'"), a=ATTACKS[2])
    for path in [*_PAGES, "/c/n1", "/c/n2"]:
        answer = browser.client.get(path, headers={"Accept": "text/html"})
        assert answer.status_code in {200, 404}, path
        assert _active(answer.text) == [], path


def test_markup_in_an_address_is_text_in_what_is_answered(browser: Browser) -> None:
    browser.sign_in()
    for attack in [*ATTACKS, *_MORE][::4]:
        raw = quote(attack.replace("/", "|"), safe="<>'\"()=;!")
        for path in (f"/{raw}", f"/c/{raw}", f"/inspect/{raw}", f"/login?next={raw}", f"/?x={raw}"):
            for accept in ("text/html", "*/*", "application/json"):
                answer = browser.client.get(path, headers={"Accept": accept})
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.status_code < 500, path
                if answer.headers["content-type"].startswith("text/html"):
                    assert _active(answer.text) == [], path
                    assert "'unsafe" not in answer.headers["content-security-policy"]
                else:
                    assert not answer.headers["content-type"].startswith(("text/xml", "image/svg"))


@pytest.mark.parametrize("number", [0, 1])
def test_a_failed_login_is_shown_nowhere_as_markup(served: Served, number: int) -> None:
    stranger, browser = Browser(served), Browser(served)
    # Half at a time: more are held off as guesses.
    for attack in [*ATTACKS][number::4][:14]:
        body = {"name": attack[:200], "password": attack}
        answer = stranger.post("/api/login/password", body)
        assert answer.status_code == 401
        assert answer.headers["content-type"].startswith("application/json")
        assert attack not in answer.text
    browser.sign_in()
    for path in _PAGES[:3]:
        assert _active(browser.client.get(path, headers={"Accept": "text/html"}).text) == []


def test_files_are_saved_or_shown_as_the_picture_that_they_are(served: Served) -> None:
    script = f"<script>{_RUN}</script>".encode()
    hostile = {
        "x.html": b"<!DOCTYPE html>" + script,
        "x.svg": b"<svg xmlns='http://www.w3.org/2000/svg'>" + script + b"</svg>",
        "x.xml": b"<?xml version='1.0'?><x:script xmlns:x='http://www.w3.org/1999/xhtml'/>",
        "x.js": _RUN.encode(),
        "x.txt": script,
        "x.png": script,
        "x.swf": b"FWS" + script,
        "x.mht": b"MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n" + script,
        "x.bmp": b"BM" + script,
        "x.ico": b"\0\0\1\0" + script,
        "x.wasm": b"\0asm" + script,
    }
    for name, data in hostile.items():
        encoded = base64.b64encode(data).decode()
        for head in ("", "data:text/html;base64,", "data:image/png;base64,"):
            files = [{"data": head + encoded, "name": name}]
            body = {"conversation": "c", "text": "x", "files": files}
            answer = served.client.post("/api/chat", json=body)
            if answer.status_code != 400:
                # By its first bytes a picture, of a kind that browsers are not shown.
                _is_saved(served, "c", answer.json()["seq"])
    names = [f"{attack[:60]}.html" for attack in ATTACKS[:30]]
    pdf = base64.b64encode(document(1) + script).decode()
    for name in names:
        sent = served.send("x", "f", files=[{"data": pdf, "name": name}])
        _is_saved(served, "f", sent["seq"])


def _is_saved(served: Served, conversation: str, seq: int) -> None:
    answer = served.client.get(f"/api/conversations/{conversation}/messages/{seq}/files/0")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not any(one in answer.headers["content-disposition"] for one in _MARKUP)
