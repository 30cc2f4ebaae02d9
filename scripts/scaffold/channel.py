"""Write the files that a new channel begins with. Nothing that is there already is touched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from habakkuk.channels.contract import AccountSettings
from habakkuk.core.config.values import Variable
from scripts.scaffold.table import settings_table

_NAME = re.compile(r"[a-z][a-z0-9]{1,30}")
_IMPORTS = re.compile(r"(?:^from habakkuk\..*\n)+", re.MULTILINE)
_TEMPLATES = Path(__file__).with_name("templates")
# Where each template goes; its name is the key.
_PLACES = {
    "init.txt": "habakkuk/channels/{name}/__init__.py",
    "manifest.txt": "habakkuk/channels/{name}/manifest.py",
    "adapter.txt": "habakkuk/channels/{name}/adapter.py",
    "sample.txt": "tests/contract/channels/samples/{name}.py",
    "page.txt": "docs/channels/{name}.md",
}


class Refused(Exception):
    """What keeps a channel from being begun, for whoever asked."""


class _Settings(AccountSettings):
    """As the manifest's template has them."""

    token_env: Annotated[Variable, Field(description="the variable that holds the token")]


def make(root: Path, name: str, title: str) -> list[Path]:
    """Write the files and return them. Raises Refused, and writes nothing then."""
    if _NAME.fullmatch(name) is None:
        raise Refused(f"{name!r} is no name of a channel; take small letters and digits")
    places = {key: root / place.format(name=name) for key, place in _PLACES.items()}
    found = [str(path.relative_to(root)) for path in places.values() if path.exists()]
    if found:
        raise Refused(f"there is {', '.join(found)} already")
    words = {
        "NAME": name,
        "TITLE": title,
        "CLASS": title.title().replace(" ", ""),
        "VARIABLE": f"{name.upper()}_TOKEN",
        "TABLE": settings_table(_Settings),
    }
    for key, path in places.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled((_TEMPLATES / key).read_text(), words))
    return list(places.values())


def _filled(template: str, words: Mapping[str, str]) -> str:
    made = re.sub(r"@([A-Z]+)@", lambda found: words[found[1]], template)
    # Where the channel's own modules stand among the others depends on its name.
    return _IMPORTS.sub(lambda found: "".join(sorted(found[0].splitlines(keepends=True))), made)
