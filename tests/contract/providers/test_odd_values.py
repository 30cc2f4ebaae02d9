"""Whatever stands in an event, an answer can be stored, or its failure is one of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from habakkuk.core.text import clean_json
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.registry import Registry, provider_types
from habakkuk.llm.types import Finished, ModelRef, ToolCall, blocks_from_json, blocks_to_json
from habakkuk.llm.wire.exchange import StreamProvider
from tests.contract.providers.replies import events_of
from tests.contract.providers.wires import WIRES, knowing

GOOD = ("text", "thinking", "call", "two calls", "private", "hosted")
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something stands in a JSON value."""
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inside:
        yield (*here, key)
        yield from places(item, (*here, key))


def put(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """Return a copy of a JSON value with something else at one place."""
    if not place:
        return odd
    key, *rest = place
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = put(copy[key], tuple(rest), odd)
    return copy


def values(kind: str, scenario: str) -> list[dict[str, Any]]:
    """Return the objects of a good stream."""
    events = (e.partition(b"data: ")[2] for e in events_of(WIRES[kind](scenario)))
    return [json.loads(event) for event in events if event.startswith(b"{")]


def played(provider: StreamProvider[Any], stream: list[Any]) -> Finished | None:
    """Return the end of an answer made of these objects; None when one was refused."""
    answer = provider._answer(ModelRef("mine", "m"), ())
    try:
        for value in stream:
            list(answer.add(provider._piece(value)))
    except ValidationError:
        return None
    *_, last = answer.end()
    assert isinstance(last, Finished)
    return last


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    """A provider of each type; none of them is asked anything."""
    made = Registry(
        {kind: Endpoint(kind, "http://127.0.0.1:9/v1", "k", type=kind) for kind in provider_types()}
    )
    yield made
    made.close()


@pytest.mark.parametrize("kind", provider_types())
@given(data=st.data())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_an_odd_value_anywhere(registry: Registry, kind: str, data: st.DataObject) -> None:
    scenario = data.draw(st.sampled_from([name for name in GOOD if kind in knowing(name)]))
    stream = values(kind, scenario)
    place = data.draw(st.sampled_from(list(places(stream))))
    odd: list[Any] = put(stream, place, data.draw(ODD))
    provider = registry.provider(kind)
    assert isinstance(provider, StreamProvider)
    finished = played(provider, [value for value in odd if isinstance(value, dict)])
    if finished is None:
        return
    stored = blocks_to_json(finished.blocks)
    assert clean_json(stored) == stored, "PostgreSQL takes it"
    assert blocks_from_json(orjson.loads(orjson.dumps(stored))) == finished.blocks
    calls = [block for block in finished.blocks if isinstance(block, ToolCall)]
    assert len({call.id for call in calls}) == len(calls)
    assert all(call.name for call in calls)
