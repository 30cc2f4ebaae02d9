"""Facts about models, found by the model's name in `families`."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

from habakkuk.llm.contract import Profile
from habakkuk.llm.profiles import families
from habakkuk.llm.types import ModelRef

LOCAL_PROVIDER = "local"
LOCAL_MODEL = "smollm2-135m-instruct"

# Text only, no levels, a window that nearly every model has: nothing that a model could refuse.
UNKNOWN = Profile(max_tokens_field="max_tokens", context_window=32_768, known=False)
# Some hosts write 3.1 as 3p1.
_POINT = re.compile(r"(?<=\d)p(?=\d)")


def _known() -> Iterator[tuple[re.Pattern[str], Profile]]:
    for module in pkgutil.iter_modules(families.__path__):
        family = importlib.import_module(f"{families.__name__}.{module.name}")
        for pattern, profile in family.MODELS:
            yield re.compile(pattern), profile


_KNOWN = tuple(_known())


def plain_name(model: str) -> str:
    """Return a model's own name: in small letters, without who serves or tuned it."""
    return _POINT.sub(".", model.lower().rpartition("/")[2].removeprefix("ft:"))


def profile_for(ref: ModelRef) -> Profile:
    """Return what is known of a model; the careful choice, `known` false, when nothing is."""
    name = plain_name(ref.model)
    return next((profile for pattern, profile in _KNOWN if pattern.match(name)), UNKNOWN)
