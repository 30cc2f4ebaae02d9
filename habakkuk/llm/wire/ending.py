"""How an answer ended, from the reason that a service names and from what it sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from habakkuk.core.text import clean
from habakkuk.llm.types import Block, Finished, ModelRef, Opaque, StopReason, Thinking, Usage

# Compared without case and separators, since services write tool_calls, tool-calls and toolUse.
_STOPS = {
    "stop": StopReason.END,
    "endturn": StopReason.END,
    "eos": StopReason.END,
    "stopsequence": StopReason.END,
    "completed": StopReason.END,
    "toolcalls": StopReason.TOOL_USE,
    "toolcall": StopReason.TOOL_USE,
    "tooluse": StopReason.TOOL_USE,
    "functioncall": StopReason.TOOL_USE,
    "length": StopReason.LENGTH,
    "maxtokens": StopReason.LENGTH,
    "maxoutputtokens": StopReason.LENGTH,
    "modelcontextwindowexceeded": StopReason.LENGTH,
    "contentfilter": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
    "safety": StopReason.REFUSAL,
    "recitation": StopReason.REFUSAL,
    "language": StopReason.REFUSAL,
    "blocklist": StopReason.REFUSAL,
    "prohibitedcontent": StopReason.REFUSAL,
    "spii": StopReason.REFUSAL,
    "imagesafety": StopReason.REFUSAL,
    "imageprohibitedcontent": StopReason.REFUSAL,
    "imagerecitation": StopReason.REFUSAL,
    "escalation": StopReason.REFUSAL,
    "modelarmor": StopReason.REFUSAL,
    "puplimiteddisabled": StopReason.REFUSAL,
    "continuation": StopReason.LENGTH,
    "pauseturn": StopReason.PAUSE,
}
_SEPARATORS = re.compile(r"[^a-z]")
# Calls of an answer that did not end as it should are never run.
_FAULTS = {
    StopReason.LENGTH: "the answer reached its length limit before the call was complete;"
    " ask again with less",
    StopReason.REFUSAL: "the provider stopped the answer at this call",
}
# Words for an answer in which the service itself could not read a call.
_UNREADABLE = frozenset({"malformedfunctioncall", "malformedresponse", "unexpectedtoolcall"})
_NOTICES = {
    StopReason.LENGTH: "reached its length limit; the answer is not complete",
    StopReason.PAUSE: "paused before the answer was complete",
}


@dataclass(frozen=True)
class Ending:
    """The end of one answer. `finish` is the service's word, None when it gave none."""

    finish: str | None
    refused: bool
    calls: int

    @property
    def _word(self) -> str:
        return _SEPARATORS.sub("", (self.finish or "stop").lower())

    @property
    def _named(self) -> StopReason | None:
        return _STOPS.get(self._word)

    @property
    def stop(self) -> StopReason:
        """Why it stopped. Content goes before the word: calls or none decide what comes next."""
        named = self._named or StopReason.UNKNOWN
        if self.refused:
            return StopReason.REFUSAL
        if named in (StopReason.LENGTH, StopReason.REFUSAL):
            return named
        if self.calls:
            return StopReason.TOOL_USE
        return StopReason.END if named is StopReason.TOOL_USE else named

    @property
    def fault(self) -> str | None:
        """Why none of its calls may run, None when they may."""
        if self._word in _UNREADABLE:
            return f"the provider could not read the calls ({self.raw}); send them again"
        return _FAULTS.get(self.stop)

    @property
    def raw(self) -> str | None:
        """The service's word, clean."""
        return clean(self.finish) if self.finish else None

    def refusal(self, said: str = "") -> str:
        """Return what a person reads where a refusal came without a word."""
        reason = clean(said) or (f"({self.raw})" if self.raw else "")
        return f"The model's provider declined to answer {reason}".rstrip().removesuffix(".") + "."

    def finished(
        self, model: ModelRef, blocks: tuple[Block, ...], usage: Usage | None, *notices: str
    ) -> Finished:
        """Return the event that ends the answer; `notices` are what the format adds."""
        return Finished(
            blocks=blocks,
            stop=self.stop,
            usage=usage or Usage(),
            model=model,
            raw_stop=self.raw,
            notices=(*self._notices(model, blocks), *notices),
        )

    def _notices(self, model: ModelRef, blocks: Sequence[Block]) -> Iterator[str]:
        """Yield what somebody should know besides the answer."""
        if self._named is None:
            yield f"{model} ended with an unknown reason: {self.raw!r}"
        if self.stop in _NOTICES:
            yield f"{model} {_NOTICES[self.stop]}"
        if self.stop is not StopReason.PAUSE and not any(map(_says, blocks)):
            yield f"{model} answered with nothing"


def _says(block: Block) -> bool:
    """Whether a block is a part of the answer and not of the way to it."""
    return not isinstance(block, Thinking | Opaque)
