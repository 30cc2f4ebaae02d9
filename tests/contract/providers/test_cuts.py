"""No stream that breaks off is taken for an answer, wherever it breaks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import NetworkFailed, Profile
from habakkuk.llm.types import Finished
from tests.contract.providers.conftest import REQUEST, Bench
from tests.contract.providers.replies import cut_after, events_of
from tests.contract.providers.wires import ENDS, knowing
from tests.fakes.model_script import Reply

GOOD = ("text", "thinking", "call", "two calls", "private", "hosted", "said refusal")


def cuts(events: list[bytes]) -> Iterator[tuple[int, Reply]]:
    """Yield (events that came whole, the stream) for every place at which one can break."""
    for count in range(len(events)):
        for inside in (False, True):
            for clean in (False, True):
                yield count, cut_after(events, count, inside=inside, clean=clean)


@pytest.mark.parametrize(
    ("bench", "scenario"),
    [(kind, scenario) for scenario in GOOD for kind in knowing(scenario)],
    indirect=["bench"],
)
def test_a_stream_cut_anywhere_is_a_failure_until_its_end_came(bench: Bench, scenario: str) -> None:
    _, whole = bench.ask(scenario)
    ends = ENDS[bench.endpoint.type]
    events = events_of(bench.reply(scenario))
    assert any(end in event for event in events for end in ends)
    with bench.provider() as provider:
        for count, reply in cuts(events):
            bench.server.script = lambda _, reply=reply: reply
            ended = any(end in event for event in events[:count] for end in ends)
            shown = provider.stream("m", REQUEST, Profile(), Interrupt())
            if not ended:
                with pytest.raises(NetworkFailed) as failure:
                    list(shown)
                assert failure.value.retryable
                continue
            *_, last = shown
            assert isinstance(last, Finished)
            assert [b.type for b in last.blocks] == [b.type for b in whole.blocks]
            assert last.stop is whole.stop
