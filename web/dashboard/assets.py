"""The files that pages are made of, read once, compressed once, and named so that they can be kept.

An address holds the digest of all of our own files (a bundle's name holds its own), so what lies
behind it never changes and a browser never asks twice.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_FOLDER = Path(__file__).parent.parent / "static"
_VENDOR = "vendor/"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class Asset:
    """One file as it is sent."""

    body: bytes
    packed: bytes
    type: str
    etag: str


class Assets:
    """The files below web/static."""

    def __init__(self, folder: Path = _FOLDER) -> None:
        """Read nothing yet."""
        self._folder = folder

    @cached_property
    def _files(self) -> Mapping[str, Asset]:
        paths = sorted(path for path in self._folder.rglob("*") if path.is_file())
        return {path.relative_to(self._folder).as_posix(): _read(path) for path in paths}

    @cached_property
    def digest(self) -> str:
        """What names this version of our own files."""
        total = hashlib.sha256()
        for name, asset in self._files.items():
            if not name.startswith(_VENDOR):
                total.update(name.encode() + b"\0" + asset.body)
        return total.hexdigest()[:16]

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """The addresses of the pages' own modules, for the browser to fetch side by side."""
        return tuple(self.url(name) for name in self._files if name.startswith("app/"))

    @cached_property
    def bundle(self) -> str:
        """The address of the libraries' bundle."""
        names = (name for name in self._files if name.startswith(f"{_VENDOR}vendor."))
        return self.url(next(names))

    def url(self, name: str) -> str:
        """Return the address of a file, such as `style/base.css`."""
        if name not in self._files:
            raise AssertionError(f"there is no file web/static/{name}")
        return f"/static/{name}" if name.startswith(_VENDOR) else f"/static/{self.digest}/{name}"

    def find(self, path: str) -> tuple[Asset, bool] | None:
        """Return the file of an address, and whether a browser may keep it for good.

        An address of another version gets today's file: the page may be of a server that went.
        """
        if path.startswith(_VENDOR):
            found = self._files.get(path)
            return (found, True) if found else None
        digest, _, name = path.partition("/")
        found = self._files.get(name)
        return (found, digest == self.digest) if found else None


def _read(path: Path) -> Asset:
    body = path.read_bytes()
    known = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    etag = hashlib.sha256(body).hexdigest()[:32]
    packed = gzip.compress(body, 9, mtime=0)
    return Asset(body, packed, known or "application/octet-stream", etag)
