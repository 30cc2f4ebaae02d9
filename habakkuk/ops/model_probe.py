"""Ask the providers which models they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from habakkuk.llm.contract import Endpoint
from habakkuk.ops.provider_check import list_models

# Each takes some seconds at most, and they do not wait for each other.
_AT_ONCE = 8


def told(endpoints: Mapping[str, Endpoint]) -> dict[str, Sequence[str]]:
    """Return the names of each provider's models; none for one that does not tell.

    Those whose key is missing are not asked, and are not in it.
    """
    asked = {name: one for name, one in endpoints.items() if one.missing_key is None}
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return dict(zip(asked, pool.map(list_models, asked.values()), strict=True))
