"""The zip archive that a DOCX, XLSX or PPTX is: its parts as streams that are counted as they come.

What an archive says of its sizes is not believed. Nothing is written anywhere.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from habakkuk.documents.markup import Attributes, Handler, parse
from habakkuk.documents.types import Unreadable

# Seed, Documents: 64 MB a part, unpacked. All that is read of one document together:
MOST_OF_PART = 64_000_000
_MOST_IN_ALL = 256_000_000
# Each entry of a directory begins so: counted before it is read, since it may name millions.
_ENTRY = b"PK\x01\x02"
_MOST_ENTRIES = 10_000
# Of what is longer than this, so much at most may come of a byte: what packs better is no document.
_RATIO_FROM = 1_000_000
_MOST_RATIO = 500
_ENCRYPTED = 1
_CHUNK = 65_536
_PACKINGS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    KeyError,
)
_DAMAGED = "it is damaged"
_LARGE = "it is too large when it is unpacked"


@dataclass(frozen=True)
class Relation:
    """Where one part points: `kind` is the last word of its type, `target` a part or an address."""

    kind: str
    target: str
    outside: bool


class Package:
    """An open archive."""

    def __init__(self, data: bytes) -> None:
        """Read the directory. Raises Unreadable."""
        if data.count(_ENTRY) > _MOST_ENTRIES:
            raise Unreadable("it has too many parts")
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except _BROKEN as error:
            raise Unreadable(_DAMAGED) from error
        # Some programs write the names in another case than they refer to them.
        self._names = {one.filename.lower(): one for one in self._archive.infolist()}
        self._read = 0

    def has(self, name: str) -> bool:
        """Whether there is such a part."""
        return name.lower() in self._names

    def stream(self, name: str) -> Iterator[bytes]:
        """Yield a part in pieces. Raises Unreadable when it is missing, broken or too large."""
        entry = self._names.get(name.lower())
        if entry is None:
            raise Unreadable(f"{_DAMAGED}: {name[:100]} is missing")
        if entry.flag_bits & _ENCRYPTED:
            raise Unreadable("it is protected by a password")
        if entry.compress_type not in _PACKINGS:
            raise Unreadable("it is packed in a way that documents are not")
        try:
            yield from self._counted(entry)
        except _BROKEN as error:
            raise Unreadable(_DAMAGED) from error

    def _counted(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        size = 0
        packed = max(1, entry.compress_size)
        with self._archive.open(entry) as part:
            while chunk := part.read(_CHUNK):
                size += len(chunk)
                self._read += len(chunk)
                if size > MOST_OF_PART or self._read > _MOST_IN_ALL:
                    raise Unreadable(_LARGE)
                if size > _RATIO_FROM and size // packed > _MOST_RATIO:
                    raise Unreadable(_LARGE)
                yield chunk

    def parse(self, name: str, handler: Handler) -> None:
        """Read a part as XML. Raises Unreadable."""
        parse(self.stream(name), handler)

    def parse_if_there(self, name: str | None, handler: Handler) -> None:
        """Read a part as XML where there is one that can be read; nothing hangs on it."""
        if name is not None and self.has(name):
            with suppress(Unreadable):
                self.parse(name, handler)

    def relations(self, name: str) -> dict[str, Relation]:
        """Return where a part points, by the ids that it uses; the package itself is ""."""
        folder, file = posixpath.split(name)
        listed = _Relations(folder)
        own = posixpath.join(folder, "_rels", f"{file}.rels")
        if self.has(own):
            self.parse(own, listed)
        return listed.found

    def main_part(self) -> str:
        """Return the part that the document begins with. Raises Unreadable."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument" and not relation.outside:
                return relation.target
        raise Unreadable(f"{_DAMAGED}: it does not say where it begins")


def first_of(relations: dict[str, Relation], kind: str) -> str | None:
    """Return the first part that is pointed to as `kind`."""
    found = (one.target for one in relations.values() if one.kind == kind and not one.outside)
    return next(found, None)


class _Relations(Handler):
    """Reads the file of a part's relations."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder
        self.found: dict[str, Relation] = {}

    def begin(self, name: str, attributes: Attributes, /) -> None:
        if name != "Relationship":
            return
        outside = attributes.get("TargetMode", "").lower() == "external"
        target = attributes.get("Target", "")
        if not outside:
            target = posixpath.normpath(posixpath.join("/", self._folder, unquote(target)))[1:]
        kind = attributes.get("Type", "").rpartition("/")[2]
        self.found[attributes.get("Id", "")] = Relation(kind, target, outside)
