"""The dashboard in Chromium, and its Markdown: what becomes of an agent's text on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from habakkuk.accounts.types import Scope
from tests.browser.chromium import launched
from tests.browser.window import Window
from tests.security.door import Served

# Put into the page as the page itself does it, each for itself, then looked at as Chromium has it.
_DRAWN = """async ([url, texts]) => {
  const { nodes } = await import(url);
  const bad = 'script,iframe,img,image,picture,source,object,embed,link,style,form,input,button,'
    + 'video,audio,track,base,meta,template,svg,math,frame,frameset,applet,portal,dialog';
  const calling = ['src', 'srcset', 'background', 'poster', 'data', 'action', 'formaction', 'ping',
    'style', 'xlink:href', 'cite', 'longdesc', 'manifest', 'srcdoc', 'id', 'name'];
  const found = [];
  for (const text of texts) {
    const place = document.createElement('div');
    place.className = 'prose';
    document.body.append(place);
    place.replaceChildren(nodes(text));
    // The page's own button to copy; no text can make a div.
    place.querySelectorAll('div.code > div.bar').forEach((bar) => bar.remove());
    const all = [...place.querySelectorAll('*')];
    found.push({
      elements: all.filter((one) => one.matches(bad)).map((one) => one.outerHTML),
      attributes: all.flatMap((one) => [...one.attributes].map((each) => each.name))
        .filter((name) => name.startsWith('on') || calling.includes(name)),
      schemes: all.filter((one) => one.hasAttribute('href')).map((one) => one.protocol),
      loose: all.filter((one) => one.hasAttribute('href')
        && !(one.rel.includes('noopener') && one.rel.includes('noreferrer'))).length,
    });
  }
  await new Promise((done) => setTimeout(done, 0));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return { found, hit: window.__hit ?? null };
}"""
_SCHEMES = {"http:", "https:", "mailto:"}


@dataclass
class Face:
    """An open page of the owner's."""

    window: Window
    module: str

    def faults(self, texts: Sequence[str]) -> list[Any]:
        """Return what of the texts is more than text on this page, or left it."""
        drawn = self.window.page.evaluate(_DRAWN, [self.module, list(texts)])
        through: list[Any] = [
            (text, one)
            for text, one in zip(texts, drawn["found"], strict=True)
            if one["elements"]
            or one["attributes"]
            or one["loose"]
            or not set(one["schemes"]) <= _SCHEMES
        ]
        through += [drawn["hit"]] if drawn["hit"] is not None else []
        return through + self.window.outside + self.window.faults


@contextmanager
def face(served: Served, path: str = "/") -> Iterator[Face]:
    """Open a page of a server with the owner's token."""
    token = served.stack.container.accounts.create_token("face", tuple(Scope))
    with launched() as browser:
        context = browser.new_context(extra_http_headers={"Authorization": f"Bearer {token}"})
        window = Window(served, context.new_page(), served.base_url)
        page = window.go(path)
        module = page.locator('link[rel=modulepreload][href*="/markdown"]').get_attribute("href")
        assert module is not None
        yield Face(window, module)
        context.close()
