"""Long work beside gevent's loop, on which everybody else's request waits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from habakkuk.core.errors import UserError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def apart(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return what `work` does with its arguments, on a thread of gevent's where that runs here.

    It may use neither the database nor the request.
    """
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is None or not monkey.is_module_patched("socket"):
        return work(*args, **kwargs)
    # Only a patched process comes here, and only the web process has gevent loaded.
    from gevent import get_hub  # noqa: PLC0415 - see above

    def outcome() -> _T | UserError:
        # An error that leaves a thread of the pool is printed as one of the program.
        try:
            return work(*args, **kwargs)
        except UserError as error:
            return error

    done = get_hub().threadpool.apply(outcome)
    if isinstance(done, UserError):
        raise done
    return done
