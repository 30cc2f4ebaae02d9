"""Ids: derived ones for what may be asked for twice, random ones for what may not."""

from __future__ import annotations

import hashlib
import secrets


def derive(prefix: str, *parts: str) -> str:
    """Return the same id for the same parts: `<prefix>_` and 32 hex digits.

    Hashed, since raw platform ids can exceed what an index row may hold (8191 bytes), and joined
    with a separator that no part can contain unescaped, so that ("a", "bc") and ("ab", "c") differ.
    """
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return f"{prefix}_{digest.hexdigest()[:32]}"


def random_id(prefix: str) -> str:
    """Return a new id: `<prefix>_` and 24 hex digits."""
    return f"{prefix}_{secrets.token_hex(12)}"
