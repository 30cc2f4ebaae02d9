"""What a service refused of a request, so that it is asked without, and not again with it."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from habakkuk.core.errors import LlmError
from habakkuk.llm.contract import BadRequest
from habakkuk.llm.types import LlmRequest, ModelRef

# How much is remembered; what is forgotten costs one more request.
_MOST = 512
# Where the tools stand in a body, the service's own before all others.
_TOOLS = re.compile(r"(tools|tool_choice|tool_?config|max_tool_calls)\b", re.IGNORECASE)
_FIRST_TOOL = re.compile(r"tools\W+0\b", re.IGNORECASE)
_OTHER_TOOL = re.compile(r"tools\W+\d", re.IGNORECASE)
# Most services give such a refusal no code of its own, and many name no field.
_HOSTED = re.compile(
    r"web[_ ]?search|web[_ ]?fetch|google[_ ]?search|search grounding|url[_ ]?context"
    r"|server[_ -]?side[_ ]tool|built-?in tools?",
    re.IGNORECASE,
)
# An earlier search in the transcript: to leave the tool out would not help.
_REPLAYED = re.compile(
    r"\b(messages|input|contents)\b\W{0,4}\d|_tool_result\b|\bweb_search_call\b|\bserver_tool_use\b",
    re.IGNORECASE,
)

Refusal = tuple[str, ...]
Unsealed = Callable[[LlmRequest, ModelRef], LlmRequest]


@dataclass(frozen=True)
class Plainer:
    """A request without what was refused in it.

    `refusal` tells what that was and for whom it holds; `lasts` is false where it holds for this
    request alone.
    """

    request: LlmRequest
    refusal: Refusal
    lasts: bool = True


class Refusals:
    """What was refused to one endpoint in this process. Thread-safe, and bounded.

    Services refuse what they had sealed in earlier answers, since their seals hold only under
    conditions of their own; gateways refuse the search of a service whose models they pass on, and
    an organization may have turned it off.
    """

    def __init__(self, bad_seal: re.Pattern[str] | None, unsealed: Unsealed) -> None:
        """Take how a refusal of seals reads, and what leaves a model's seals out of a request."""
        self._bad_seal = bad_seal
        self._unsealed = unsealed
        self._lock = threading.Lock()
        self._known: OrderedDict[Refusal, None] = OrderedDict()

    def plainer(self, error: LlmError, request: LlmRequest, model: ModelRef) -> Plainer | None:
        """Return the request without what was refused in it; None when nothing helps."""
        if self._bad_seal is not None and self._bad_seal.search(str(error)):
            plain = self._unsealed(request, model)
            lasts = request.cache_key is not None
            return Plainer(plain, _seals(request, model), lasts) if plain != request else None
        if request.web and refuses_hosted_tools(error):
            return Plainer(replace(request, web=False), _search(request, model))
        return None

    def without_refused(self, request: LlmRequest, model: ModelRef) -> LlmRequest:
        """Return the request without what is known to be refused in it."""
        if request.web and self._knows(_search(request, model)):
            request = replace(request, web=False)
        if request.cache_key is not None and self._knows(_seals(request, model)):
            request = self._unsealed(request, model)
        return request

    def remember(self, left_out: Iterable[Plainer]) -> None:
        """Keep what was left out of a request that was answered then: so it was that."""
        with self._lock:
            for plainer in left_out:
                if plainer.lasts:
                    self._known[plainer.refusal] = None
            while len(self._known) > _MOST:
                self._known.popitem(last=False)

    def _knows(self, refusal: Refusal) -> bool:
        """Whether it is remembered; then it is for longer."""
        with self._lock:
            found = refusal in self._known
            if found:
                self._known.move_to_end(refusal)
            return found


def _seals(request: LlmRequest, model: ModelRef) -> Refusal:
    """Return the refusal of seals: those of one session."""
    return ("seals", model.model, request.cache_key or "")


def _search(request: LlmRequest, model: ModelRef) -> Refusal:
    """Return the refusal of the service's search, which some models refuse at some efforts."""
    return ("web", model.model, request.effort or "")


def refuses_hosted_tools(error: LlmError) -> bool:
    """Whether an error is about the service's own search and fetch as a tool."""
    named = bool(_HOSTED.search(str(error)))
    param = error.param if isinstance(error, BadRequest) else None
    if param is None:
        return named and not _REPLAYED.search(str(error))
    if _FIRST_TOOL.match(param):
        return True
    return named and bool(_TOOLS.match(param)) and not _OTHER_TOOL.match(param)
