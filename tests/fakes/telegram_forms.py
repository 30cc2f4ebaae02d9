"""The forms in which the Bot API is asked, read by another program than the one that writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl


@dataclass(frozen=True)
class File:
    """A file of a form."""

    name: str
    data: bytes


def read(kind: str, body: bytes) -> dict[str, Any]:
    """Read a form whose values are JSON where they are not text."""
    asked: dict[str, Any] = {}
    files: dict[str, File] = {}
    pairs = parse_qsl(body.decode(), keep_blank_values=True) if "multipart" not in kind else []
    if "multipart" in kind:
        form = BytesParser(policy=HTTP).parsebytes(
            b"content-type: " + kind.encode() + b"\n\n" + body
        )
        for part in form.iter_parts():
            name = part.get_param("name", header="content-disposition")
            data = part.get_payload(decode=True)
            assert isinstance(data, bytes)
            if part.get_filename() is not None:
                files[str(name)] = File(str(part.get_filename()), data)
            else:
                pairs.append((str(name), data.decode()))
    for name, value in pairs:
        structured = value[:1] in "[{" and name not in {"text", "caption", "question"}
        asked[name] = json.loads(value) if value and structured else value
    for name, value in asked.items():
        if isinstance(value, str) and value.startswith("attach://"):
            asked[name] = files[value.removeprefix("attach://")]
    return files | asked
