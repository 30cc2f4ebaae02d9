"""A provider that answers from a list, for tests of what stands above providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import CallRecord, Profile, Provider
from habakkuk.llm.types import (
    Finished,
    LlmEvent,
    LlmRequest,
    ModelRef,
    StopReason,
    Text,
    TextDelta,
    Usage,
)

Step = LlmEvent | Exception


def answering(text: str, ref: ModelRef, usage: Usage | None = None) -> list[Step]:
    """Return the events of a plain answer."""
    finished = Finished((Text(text=text),), StopReason.END, usage or Usage(3, 1), ref)
    return [TextDelta(text), finished]


class ScriptedProvider:
    """Plays one list of events (or errors to raise) for each call; the last is played again."""

    def __init__(self, *plays: Iterable[Step]) -> None:
        """Take the plays in order."""
        self._plays = [list(play) for play in plays]
        self.requests: list[tuple[str, LlmRequest, Profile]] = []
        self.closed = False

    def stream(
        self, model: str, request: LlmRequest, profile: Profile, interrupt: Interrupt
    ) -> Iterator[LlmEvent]:
        """Play the next list."""
        interrupt.check()
        play = self._plays[min(len(self.requests), len(self._plays) - 1)]
        self.requests.append((model, request, profile))
        for step in play:
            if isinstance(step, Exception):
                raise step
            yield step

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


@dataclass
class ProviderTable:
    """Providers by name, in the registry's place."""

    by_name: Mapping[str, Provider]
    by_key: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def provider(self, name: str, key: int = 0) -> Provider:
        """Return the provider; with several keys it has the name `name:key`."""
        names = self.keys(name)
        return self.by_name[f"{name}:{names[key]}" if len(names) > 1 else name]

    def keys(self, name: str) -> Sequence[str]:
        """Return the names of its keys."""
        return self.by_key.get(name, ("",))


class RecordingCalls:
    """A call log that keeps what it is told."""

    def __init__(self) -> None:
        """Start empty."""
        self.seen: list[CallRecord] = []

    def record(self, call: CallRecord) -> None:
        """Keep it."""
        self.seen.append(call)


class RecordingCooldowns:
    """Cooldowns in memory; `asleep` rest from the start."""

    def __init__(self, asleep: Sequence[str] = ()) -> None:
        """Let these rest for a minute."""
        self.rests = dict.fromkeys(asleep, 60.0)

    def resting(self, provider: str) -> float:
        """Return what was set."""
        return self.rests.get(provider, 0.0)

    def rest(self, provider: str, seconds: float) -> None:
        """Set it."""
        self.rests[provider] = seconds

    def wake(self, provider: str) -> None:
        """End its rest."""
        self.rests.pop(provider, None)
