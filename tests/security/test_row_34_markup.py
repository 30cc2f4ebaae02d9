"""Row 34: markup in whatever others write is text: in replies, titles, names, files and errors."""

from __future__ import annotations

import base64
from urllib.parse import quote

import html5lib
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
    f"<svg></p><style><a id=\"</style><img src=1 onerror={_RUN}>\">",
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={_RUN}&gt;'>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src onerror={_RUN}>",
    f"<svg><p><style><g title='</style><img src onerror={_RUN}>'>",
    f"<noembed><img title='</noembed><img src onerror={_RUN}>'></noembed>",
    f"<xmp><img title='</xmp><img src onerror={_RUN}>'></xmp>",
    f"<plaintext><img src=x onerror={_RUN}>",
    f"<listing>&lt;img src=x onerror={_RUN}&gt;</listing>",
    f"<select><template><style><!--</style><a rel='--><img src onerror={_RUN}>'>",
    f"<a id=__hit><a id=__hit name=1>",
    f"<form id=document><input name=cookie></form>",
    f"<img name=getElementById>",
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
    f"[x](filesystem:http://localhost/)",
    f"[x](view-source:http://localhost/)",
    f"[x](intent://x#Intent;scheme=http;end)",
    f"[x](ms-msdt:/id)",
    f"[x](vscode://x)",
    f"[x](chrome://settings)",
    f"[x](tel:+1)",
    f"[x](ws://evil.invalid)",
    f"[x][1]\n\n[1]: javascript:{_RUN}",
    f"[x]\n\n[x]: <javascript:{_RUN}>",
    f"<javascript:{_RUN}>",
    f"<vbscript:{_RUN}>",
    f"<data:text/html,<script>{_RUN}</script>>",
    f"[<img src=x onerror={_RUN}>](http://x)",
    f"[x](http://x \"'><img src=x onerror={_RUN}>\")",
    f"![<img src=x onerror={_RUN}>](http://x)",
    f"![x](x'onerror='{_RUN})",
    f"![x\" onerror=\"{_RUN}](y)",
    f"[^1]\n\n[^1]: <img src=x onerror={_RUN}>",
    f"```\"onmouseover={_RUN}\nx\n```",
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
    f"<script type=importmap>{{\"imports\":{{\"x\":\"data:text/javascript,{_RUN}\"}}}}</script>",
    f"<script type=module>{_RUN}</script>",
    f"<script nonce=''>{_RUN}</script>",
    f"<object type=text/html data='data:text/html,<script>{_RUN}</script>'></object>",
]
_PAGES = ["/", "/c/c", "/overview", "/jobs", "/usage"]
_SANDBOXED = "<script>", "<img", "<svg", "<iframe", "onerror=", "onload="


def test_markup_in_a_reply_is_text(served: Served) -> None:
    with face(served) as page:
        assert page.faults([*ATTACKS, *_MORE]) == []


def test_markup_over_several_pieces_is_text(served: Served) -> None:
    """One text after another in the same message, as parts of one document."""
    texts = ["\n\n".join([*ATTACKS, *_MORE]), "".join(_MORE), " ".join(ATTACKS)]
    texts += [f"{one}\n{other}" for one, other in zip(_MORE, reversed(_MORE), strict=True)]
    with face(served) as page:
        assert page.faults(texts) == []


def _active(page: str) -> list[str]:
    """Return what of a page's HTML is neither its own nor text."""
    tree = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=False)
    found = []
    for element in tree.iter():
        tag = str(element.tag)
        source = element.get("src") or element.get("href") or ""
        if tag in {"script", "img", "iframe", "object", "embed", "link", "base"}:
            inline = tag == "script" and element.get("type") != "application/json" and not source
            if inline or not source.startswith(("/", "")) or "evil" in source:
                found.append(f"{tag} {source}")
        found += [name for name in element.attrib if name.startswith("on") or name == "style"]
        if source.lower().replace("\t", "").startswith(("javascript:", "data:text", "vbscript:")):
            found.append(source)
    return found


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
            body = {
                "conversation": "c",
                "text": "x",
                "files": [{"data": head + encoded, "name": name}],
            }
            assert served.client.post("/api/chat", json=body).status_code == 400, (name, head)
    names = [f"{attack[:60]}.html" for attack in ATTACKS[:30]]
    pdf = base64.b64encode(document(1) + script).decode()
    for name in names:
        sent = served.send("x", "f", files=[{"data": pdf, "name": name}])
        path = f"/api/conversations/f/messages/{sent['seq']}/files/0"
        answer = served.client.get(path)
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment;")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert not any(one in answer.headers["content-disposition"] for one in _SANDBOXED)
