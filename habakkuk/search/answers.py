"""How back-ends with an interface of their own are asked, and what their answers are made of."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from habakkuk.core.http import Fetched, HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.retry_after import seconds_of
from habakkuk.core.text import clean, shorten
from habakkuk.search.contract import Access, Ask, Hit, SearchFailed, SearchLate

MOST_BYTES = 2_000_000
_LONGEST_TITLE = 200
_LONGEST_SNIPPET = 600
_LONGEST_URL = 2_000
_OK = range(200, 300)
# Payment required, and the words of Tavily for a plan that is used up.
_USED_UP = {402, 432, 433}
_REFUSED = {401, 403}
_TOO_MANY = 429
_REDIRECTS = range(300, 400)
# What only a person can mend is not asked for again soon.
_LONG_REST = 900.0
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_Answer = TypeVar("_Answer", bound="Wired")


class Wired(BaseModel):
    """An answer as it comes; what is not known of it is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def get(access: Access, ask: Ask, target: str, headers: Mapping[str, str]) -> Fetched:
    """Ask by GET. `target` is the path and query. Raises SearchFailed and Interrupted."""
    return _sent(access, ask, Request("GET", access.url + target, headers=headers))


def post(
    access: Access, ask: Ask, path: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> Fetched:
    """Ask by POST of JSON. Raises as get does."""
    given = {"content-type": "application/json", **headers}
    return _sent(access, ask, Request("POST", access.url + path, orjson.dumps(body), given))


def _sent(access: Access, ask: Ask, request: Request) -> Fetched:
    headers = {"accept": "application/json", **request.headers}
    limits = Limits(ask.seconds, MOST_BYTES)
    try:
        found = ask.http.call(
            Request(request.method, request.url, request.body, headers),
            limits,
            ask.interrupt,
            trusted=access.own,
        )
    except HttpRefused as error:
        raise SearchFailed(f"its address is not called: {error}", _LONG_REST) from error
    except HttpFailed as error:
        raise (SearchLate if error.late else SearchFailed)(str(error)) from error
    _check(found)
    return found


def _check(found: Fetched) -> None:
    if found.status in _OK:
        return
    if found.status == _TOO_MANY:
        named = seconds_of(found.headers)
        failed = SearchFailed("it takes no more requests at present (status 429)")
        raise failed if named is None else SearchFailed(str(failed), max(1.0, named))
    if found.status in _USED_UP:
        raise SearchFailed(f"its plan is used up (status {found.status})", _LONG_REST)
    if found.status in _REFUSED:
        raise SearchFailed(
            f"it refuses the request (status {found.status}); check its key and settings",
            _LONG_REST,
        )
    if found.status in _REDIRECTS:
        raise SearchFailed(f"it redirects (status {found.status}); check its url", _LONG_REST)
    raise SearchFailed(f"it answers with status {found.status}")


def read(found: Fetched, form: type[_Answer]) -> _Answer:
    """Return an answer of this form. Raises SearchFailed when it is none."""
    if found.cut:
        raise SearchFailed(f"its answer is longer than {MOST_BYTES} bytes")
    try:
        return form.model_validate(orjson.loads(found.body))
    except (orjson.JSONDecodeError, ValidationError) as error:
        kind = found.content_type.partition(";")[0].strip()[:60]
        raise SearchFailed(f"its answer cannot be read ({kind or 'no type'})") from error


def hits(found: Iterable[tuple[str | None, str | None, str | None]], count: int) -> Sequence[Hit]:
    """Return `count` results at most of (title, url, snippet), each address once.

    What has no address of the web is left out.
    """
    kept: dict[str, Hit] = {}
    for title, url, snippet in found:
        address = (url or "").strip()
        if not _is_address(address) or address in kept:
            continue
        name = _line(title or "", _LONGEST_TITLE) or address[:_LONGEST_TITLE]
        kept[address] = Hit(name, address, _line(snippet or "", _LONGEST_SNIPPET))
        if len(kept) >= count:
            break
    return list(kept.values())


def _is_address(url: str) -> bool:
    if len(url) > _LONGEST_URL or clean(url) != url or len(url.split()) != 1:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _line(text: str, most: int) -> str:
    """Return text on one line, without the marks that some services put around words."""
    return shorten(" ".join(html.unescape(_TAG.sub("", clean(text))).split()), most)
