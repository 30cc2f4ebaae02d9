"""Files of requests, on their way to where they are kept."""

from __future__ import annotations

import io
from collections.abc import Iterable

from habakkuk.blobs.incoming import IncomingFile
from web.apart import apart
from web.site import container


def keep(files: Iterable[IncomingFile]) -> None:
    """Store files, before the row that names them: what is admitted can be answered then."""
    blobs = container().blobs
    for file in files:
        apart(blobs.write_file, io.BytesIO(file.data), file.blob)
        blobs.put(file.data, file.mime)
