"""A person's choice of a model and of how hard it thinks, for one session."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from habakkuk.core.errors import Invalid
from habakkuk.llm.catalogue import catalogue
from habakkuk.llm.profiles.efforts import fitting_effort
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.profiles.presets import PRESETS
from habakkuk.llm.selection import Selection
from habakkuk.llm.types import EFFORTS, ModelRef

# The word that takes a choice back.
DEFAULT = "default"
_NEAR = 3
# As config.yaml takes them; what stands for a character that cannot be stored is none.
_NAME = re.compile(r"[^\s\ufffd]+")
_LONGEST = 300


def at_hand(selection: Selection) -> tuple[ModelRef, ...]:
    """Return the models that are known by name and whose key is there."""
    return tuple(
        model.ref
        for provider in catalogue(selection)
        if provider.missing_key is None
        for model in provider.models
    )


def choose_model(selection: Selection, text: str) -> ModelRef:
    """Return the model that a person means: provider/model, or a provider or model at hand.

    Raises Invalid, which names what is near or the key that is missing.
    """
    wanted = text.strip()
    if (
        not wanted
        or len(wanted) > _LONGEST
        or not (wanted.isprintable() and _NAME.fullmatch(wanted))
    ):
        raise Invalid("name a model as provider/model, without spaces")
    provider, _, model = wanted.partition("/")
    endpoint = selection.endpoints.get(provider)
    if endpoint is not None and endpoint.missing_key:
        raise Invalid(_no_key(provider, endpoint.missing_key))
    if endpoint is not None and model:
        return ModelRef(provider, model)
    if endpoint is not None and provider in selection.defaults:
        return ModelRef(provider, selection.defaults[provider])
    known = at_hand(selection)
    named = [ref for ref in known if ref.model == wanted]
    if named:
        return named[0]
    raise Invalid(_unknown(selection, wanted, known))


def choose_effort(text: str) -> str:
    """Return one of EFFORTS. Raises Invalid, which names them."""
    wanted = text.strip().lower()
    if wanted not in EFFORTS:
        raise Invalid(f"{text.strip()[:40]!r} is no level of effort; there are {_words(EFFORTS)}")
    return wanted


def effort_note(effort: str, ref: ModelRef) -> str | None:
    """Return what a person should know: that a model takes another level, or none."""
    profile = profile_for(ref)
    fitting = fitting_effort(effort, profile)
    if fitting == effort:
        return None
    if fitting is None:
        return f"{ref} takes no levels, as far as is known; it thinks as it does by itself"
    return f"{ref} takes {_words(profile.efforts)}; it is asked for {fitting}"


def model_note(ref: ModelRef) -> str | None:
    """Return that nothing is known of a model, when it is so."""
    if profile_for(ref).known:
        return None
    return "nothing is known of it: it is sent text only and short conversations"


def with_choice(
    selection: Selection, chain: Sequence[ModelRef], model: str | None
) -> tuple[tuple[ModelRef, ...], str | None]:
    """Return an agent's models with a session's choice before them, and what to say of it.

    A choice that cannot be asked any more, since its provider or key is gone, is passed over.
    """
    if model is None:
        return tuple(chain), None
    try:
        ref = choose_model(selection, model)
    except Invalid as error:
        return tuple(chain), f"the model chosen for this session is passed over: {error}"
    return (ref, *(other for other in chain if other != ref)), None


def _unknown(selection: Selection, wanted: str, known: Sequence[ModelRef]) -> str:
    provider, _, model = wanted.partition("/")
    preset = PRESETS.get(provider)
    if preset and preset.api_key_env and provider not in selection.endpoints:
        return _no_key(provider, preset.api_key_env)
    said = f"there is no model {wanted[:80]!r} here"
    # What may have been meant, and how it is written whole.
    whole = {str(ref): str(ref) for ref in known} | {ref.model: str(ref) for ref in known}
    if model:
        whole |= {f"{name}/{model}": f"{name}/{model}" for name in selection.endpoints}
    near = difflib.get_close_matches(wanted, whole, n=_NEAR)
    if near:
        meant = list(dict.fromkeys(whole[name] for name in near))
        return f"{said}; did you mean {_words(meant, 'or')}?"
    if known:
        return f"{said}; write provider/model, such as {known[0]}"
    return f"{said}, and none is configured"


def _no_key(provider: str, variable: str) -> str:
    return f"{provider} cannot be asked: {variable} is not set where Habakkuk runs"


def _words(words: Sequence[str], joint: str = "and") -> str:
    *others, last = words
    return f"{', '.join(others)} {joint} {last}" if others else last
