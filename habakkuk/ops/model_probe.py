"""Ask the providers which models they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from habakkuk.llm.contract import Endpoint
from habakkuk.ops.provider_check import Untold, list_models

# Each takes some seconds at most, and they do not wait for each other.
_AT_ONCE = 8


def told(endpoints: Mapping[str, Endpoint]) -> dict[str, Sequence[str] | Untold]:
    """Return the names of each provider's models, or why it does not tell them.

    Those whose key is missing are not asked, and are not in it.
    """
    asked = {name: one for name, one in endpoints.items() if one.missing_key is None}
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return dict(zip(asked, pool.map(_told, asked.values()), strict=True))


def _told(endpoint: Endpoint) -> Sequence[str] | Untold:
    try:
        return list_models(endpoint)
    except Untold as untold:
        return untold
