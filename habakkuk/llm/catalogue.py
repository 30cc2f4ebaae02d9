"""The models that can be named here, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.profiles.limits import takes_documents
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.selection import Selection
from habakkuk.llm.types import ModelRef


@dataclass(frozen=True)
class ListedModel:
    """One model. `agents` are those that answer with it, first or when another fails.

    `documents`: it can be sent PDFs, by the service that has it here.
    """

    ref: ModelRef
    profile: Profile
    documents: bool
    agents: tuple[str, ...]


@dataclass(frozen=True)
class ListedProvider:
    """One provider with its models: those that agents use, its default, and any others told.

    `missing_key` is the variable that is not set, None when nothing is missing.
    """

    name: str
    missing_key: str | None
    models: tuple[ListedModel, ...]


def catalogue(selection: Selection, told: Iterable[ModelRef] = ()) -> tuple[ListedProvider, ...]:
    """Return the providers that someone chose; `told` are models that the providers tell of."""
    told = tuple(told)
    found = (_listed(name, endpoint, selection, told) for name, endpoint in _ordered(selection))
    return tuple(found)


def _ordered(selection: Selection) -> Iterator[tuple[str, Endpoint]]:
    """Yield those that agents use first."""
    used = dict.fromkeys(ref.provider for one in selection.agents.values() for ref in one.chain)
    meant = selection.meant
    for name in dict.fromkeys([*used, *(name for name in selection.endpoints if name in meant)]):
        yield name, selection.endpoints[name]


def _listed(
    name: str, endpoint: Endpoint, selection: Selection, told: Iterable[ModelRef]
) -> ListedProvider:
    chained = [ref for one in selection.agents.values() for ref in one.chain]
    default = selection.defaults.get(name)
    refs = [*chained, *([ModelRef(name, default)] if default else []), *told]
    own = dict.fromkeys(ref for ref in refs if ref.provider == name)
    return ListedProvider(
        name=name,
        missing_key=endpoint.missing_key,
        models=tuple(_model(ref, endpoint, selection) for ref in own),
    )


def _model(ref: ModelRef, endpoint: Endpoint, selection: Selection) -> ListedModel:
    profile = profile_for(ref)
    return ListedModel(ref, profile, takes_documents(endpoint, profile), _agents(ref, selection))


def _agents(ref: ModelRef, selection: Selection) -> tuple[str, ...]:
    return tuple(name for name, one in selection.agents.items() if ref in one.chain)
