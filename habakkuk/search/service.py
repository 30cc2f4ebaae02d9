"""Ask one back-end after the other until one finds something, within a time for all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from habakkuk.core.clock import Clock
from habakkuk.core.config.searching import SearchBackendConfig, SearchConfig
from habakkuk.core.cooldowns import SharedCooldowns
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.redis import RedisGate
from habakkuk.search.contract import (
    Access,
    Ask,
    Backend,
    BackendKind,
    Hit,
    SearchFailed,
    SearchLate,
)
from habakkuk.search.registry import check
from habakkuk.search.tuning import Tuning

_log = get_logger("search")
KEYLESS = "ddgs"
# Less than this is not worth a request.
_LEAST_SECONDS = 0.5
_RESTS = "it failed a moment ago and was not asked again yet"


class Unsearchable(Exception):
    """No back-end gave an answer; the message names each and why."""


@dataclass(frozen=True)
class Answer:
    """What was found, who found it, and which back-ends before it gave no answer, and why."""

    hits: Sequence[Hit]
    by: str
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Way:
    """A back-end that can be asked."""

    name: str
    backend: Backend
    seconds: float


class Search:
    """The chain. Thread-safe; one a process."""

    def __init__(
        self,
        config: SearchConfig | None = None,
        secrets: Mapping[str, str] | None = None,
        http: OutsideHttp | None = None,
        redis: RedisGate | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Take the settings and the variables that hold keys.

        A back-end that cannot be asked, since its key is missing, is named in each answer. Raises
        ConfigurationError for one that there is not.
        """
        self._config = config or SearchConfig()
        self._http = http or OutsideHttp()
        self._clock = clock or Clock()
        self._rests = SharedCooldowns(redis, self._clock)
        self._tuning = Tuning(self._config.tuning, redis, self._clock)
        self._unusable: dict[str, str] = {}
        self._ways = list(self._made(secrets or {}))
        for name, why in self._unusable.items():
            _log.warning("a search back-end cannot be used", backend=name, why=why)

    def search(self, query: str, count: int, interrupt: Interrupt) -> Answer:
        """Return at most `count` results of the first back-end that finds any.

        Raises Unsearchable when none answers, and Interrupted.
        """
        failed, empty = dict(self._unusable), ""
        asked: set[str] = set()
        deadline = self._clock.monotonic() + self._config.timeout + self._most_longer()
        for way in self._in_order():
            left = deadline - self._clock.monotonic()
            if left < _LEAST_SECONDS:
                failed[way.name] = "there was no time left to ask it"
                continue
            asked.add(way.name)
            seconds = min(left, way.seconds + self._tuning.longer(way.name))
            found = self._asked(way, Ask(query, count, seconds, self._http, interrupt), failed)
            if found:
                return Answer(found, way.name, self._passed_over(way, asked) | failed)
            empty = empty or ("" if way.name in failed else way.name)
        if empty:
            return Answer((), empty, failed)
        raise Unsearchable(told(failed) or "no search back-end is configured")

    def _asked(self, way: _Way, ask: Ask, failed: dict[str, str]) -> Sequence[Hit]:
        """Return what a back-end finds; why it gives no answer is noted in `failed`."""
        try:
            found = way.backend.search(ask)
        except SearchFailed as error:
            ask.interrupt.check()
            failed[way.name] = str(error)
            self._rests.rest(_resting(way.name), error.rest)
            if isinstance(error, SearchLate):
                self._tuning.late(way.name)
            _log.info("a search back-end failed", backend=way.name, why=str(error))
            return ()
        self._rests.wake(_resting(way.name))
        self._tuning.timely(way.name)
        return found

    def _passed_over(self, way: _Way, asked: Container[str]) -> dict[str, str]:
        """Return the earlier choices that were not asked, since they rest."""
        earlier = self._ways[: self._ways.index(way)]
        return {one.name: _RESTS for one in earlier if one.name not in asked}

    def _in_order(self) -> Sequence[_Way]:
        """Return all of them: those that failed a moment ago last, in no other order."""
        return sorted(self._ways, key=lambda way: self._rests.resting(_resting(way.name)) > 0)

    def _most_longer(self) -> float:
        return max((self._tuning.longer(way.name) for way in self._ways), default=0.0)

    def _made(self, secrets: Mapping[str, str]) -> Iterator[_Way]:
        known = check(self._config)
        wanted = list(self._config.backends)
        if self._config.keyless and all(one.backend != KEYLESS for one in wanted):
            wanted.append(SearchBackendConfig(backend=KEYLESS))
        for one in wanted:
            kind = known[one.backend]
            access, why = _access(one, kind, secrets)
            if why:
                self._unusable[one.backend] = why
                continue
            seconds = kind.seconds if "timeout" not in one.model_fields_set else one.timeout
            yield _Way(one.backend, kind.make(access), seconds)


def told(failed: Mapping[str, str]) -> str:
    """Return why back-ends gave no answer, on one line."""
    return "; ".join(f"{name}: {why}" for name, why in failed.items())


def _resting(name: str) -> str:
    # No provider is called so: a name has no slash.
    return f"search/{name}"


def _access(
    config: SearchBackendConfig, kind: BackendKind, secrets: Mapping[str, str]
) -> tuple[Access, str]:
    """Return how a back-end is reached, and why it cannot be."""
    access = Access((config.url or kind.url).rstrip("/"), own=config.url is not None)
    if not access.url and kind.needs_url:
        return access, "it needs the url of a server of its kind"
    variable = config.api_key_env or kind.key_variable
    key = secrets.get(variable, "") if variable else ""
    if kind.key_variable and not key.strip():
        return access, f"its key is missing: set {variable}"
    return dataclasses.replace(access, key=key.strip()), ""
