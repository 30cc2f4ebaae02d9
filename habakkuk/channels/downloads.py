"""Files fetched from where platforms keep them, piece by piece and within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from habakkuk.channels.contract import Bounds, NotFetched
from habakkuk.core.http import Head, HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.outside import OutsideHttp


def pieces(
    http: OutsideHttp,
    request: Request,
    bounds: Bounds,
    expect: Callable[[Head], None],
    *,
    trusted: bool,
) -> Iterator[bytes]:
    """Yield a file while it comes; `expect` raises NotFetched for an answer that is none.

    Raises NotFetched as soon as there are more bytes than allowed, and Interrupted.
    """
    left = bounds.limit
    limits = Limits(bounds.left(), bounds.limit)
    try:
        with http.stream(request, limits, bounds.interrupt, trusted=trusted) as (head, body):
            expect(head)
            for piece in body:
                left -= len(piece)
                if left < 0:
                    raise NotFetched(f"it has more than {bounds.limit:,} bytes")
                yield piece
    except HttpRefused as error:
        raise NotFetched(str(error)) from None
    except HttpFailed as error:
        raise NotFetched(str(error), retryable=error.retryable) from None
