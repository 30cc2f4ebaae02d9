"""One request and its streamed answer: what every wire format does the same way.

An SDK says where a request goes, with which headers, and what an error status means. It is sent
here, over lines that can be cut: the SDKs take 2 ms to prepare one, most of it to copy and check
what is known to be right. The events are read here, since the SDKs' own streams lose what odd
services send and cannot tell an end from a break. A format adds its body, its answer and its SDK.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import httpx2
from pydantic import ValidationError

from habakkuk.core.errors import ConfigurationError, LlmError
from habakkuk.core.interrupt import Interrupt, Interrupted
from habakkuk.core.lines import Call, Calls
from habakkuk.core.log import get_logger
from habakkuk.core.text import clean, shorten
from habakkuk.llm.contract import (
    AuthFailed,
    BadRequest,
    Endpoint,
    ModelMissing,
    NetworkFailed,
    Profile,
)
from habakkuk.llm.faults import Fault, hide_secrets, plain_headers, read_fault, translate
from habakkuk.llm.transport import line_client, line_timeout, line_transport
from habakkuk.llm.types import Finished, LlmEvent, LlmRequest, ModelRef, Usage
from habakkuk.llm.wire.body import dumped, is_error, loaded
from habakkuk.llm.wire.outgoing import call_ids
from habakkuk.llm.wire.refusals import Plainer, Refusals
from habakkuk.llm.wire.sse import Event, TooLong
from habakkuk.llm.wire.sse import events as events_of
from habakkuk.llm.wire.waiting import Wait, what_was_awaited

# How long to read on after the end was seen, for usage (after the reason to stop) and for the
# last bytes, which let the connection be used again. A slow server costs no more than this.
_AFTER_FINISH = 5.0
_AFTER_DONE = 0.05

_log = get_logger("llm.exchange")

Piece = TypeVar("Piece")
Piece_contra = TypeVar("Piece_contra", contravariant=True)


class Answer(Protocol[Piece_contra]):
    """An answer on its way. `finish` is set by the reason to stop; then it is whole."""

    finish: str | None
    started: bool

    @property
    def usage(self) -> Usage | None:
        """What was counted so far, None when nothing was said."""
        ...

    def add(self, piece: Piece_contra) -> Iterator[LlmEvent]:
        """Take a piece and yield what it shows."""
        ...

    def end(self) -> Iterator[LlmEvent]:
        """Yield the last events, Finished at the end."""
        ...


@dataclass(frozen=True)
class SdkErrors:
    """The classes of an SDK's errors: all, and those with a status."""

    all: type[Exception]
    status: type[Exception]


class StreamProvider(ABC, Generic[Piece]):
    """One endpoint of one wire format; a Provider for the router."""

    service: ClassVar[str]
    address: ClassVar[str]
    errors: ClassVar[SdkErrors]
    # How its refusal of what it had signed or sealed reads, None where it seals nothing.
    bad_seal: ClassVar[re.Pattern[str] | None] = None

    def __init__(self, endpoint: Endpoint) -> None:
        """Make the client; nothing is sent. Raises ConfigurationError for an impossible URL."""
        self._endpoint = endpoint
        self._calls = Calls()
        self._lines = line_transport(self._calls)
        # Reading has limits of its own: see Call.expect.
        longest = max(endpoint.first_byte_timeout, endpoint.stall_timeout)
        self._refusals = Refusals(self.bad_seal, self._unsealed)
        self._waits = {"timeout": line_timeout(longest).as_dict()}
        try:
            self._client = self._make_client(line_client(self._lines, endpoint.stall_timeout))
        except httpx2.InvalidURL as error:
            raise ConfigurationError(
                f"providers.{endpoint.name}.base_url: {endpoint.address!r} is no URL: {error}"
            ) from error

    # What a format adds.

    @abstractmethod
    def _make_client(self, http: httpx2.Client) -> Any:
        """Return the SDK's client over `http`."""

    @abstractmethod
    def _empty_request(self) -> httpx2.Request:
        """Return a request without a body as the SDK makes it: its address and headers."""

    @abstractmethod
    def _status_error(self, response: httpx2.Response) -> Exception:
        """Return the SDK's error for a response that was read and is none that was hoped for."""

    @abstractmethod
    def _body(self, model: str, request: LlmRequest, profile: Profile) -> dict[str, Any]:
        """Return the whole body of a request."""

    @abstractmethod
    def _answer(self, model: ModelRef, taken: Iterable[str]) -> Answer[Piece]:
        """Return an empty answer; `taken` are the call ids that the session has."""

    @abstractmethod
    def _piece(self, value: dict[str, Any]) -> Piece:
        """Read one event's object. Raises pydantic.ValidationError."""

    @abstractmethod
    def _is_last(self, event: Event, value: dict[str, Any] | None) -> bool:
        """Whether nothing of the answer follows this event, whose object is `value`."""

    # What a format may do in its own way.

    def _url(self, model: str) -> httpx2.URL:  # noqa: ARG002 - most have one address for all
        """Return where a request goes."""
        return self._blank.url

    def _fault(self, error: Any) -> Fault:
        """Return what the SDK's status error says."""
        headers = plain_headers(error.response.headers)
        return read_fault(error.body, error.status_code, headers)

    def _error_in(self, event: Event, value: dict[str, Any]) -> object:
        """Return the error that an event tells of, None for one that goes on."""
        return value if is_error(event, value) else None

    def _unsealed(self, request: LlmRequest, model: ModelRef) -> LlmRequest:  # noqa: ARG002 - most look for its own
        """Return the request without what `model` had sealed; the same when it has nothing."""
        return request

    def _plainer(self, error: LlmError, request: LlmRequest, model: ModelRef) -> Plainer | None:
        """Return the request without what was refused in it; None when nothing helps."""
        return self._refusals.plainer(error, request, model)

    # The exchange.

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def stream(
        self, model: str, request: LlmRequest, profile: Profile, interrupt: Interrupt
    ) -> Iterator[LlmEvent]:
        """Yield events as they arrive, Finished last; see Provider.stream.

        When a service refuses a part of the request that it can do without, it is asked once more
        without that, where nothing was shown yet: the same call, within the same time.
        """
        ref = ModelRef(self._endpoint.name, model)
        ends = time.monotonic() + self._endpoint.timeout
        request = self._refusals.without_refused(request, ref)
        left_out: list[Plainer] = []
        while True:
            shown = False
            try:
                with closing(self._stream(ref, request, profile, interrupt, ends)) as events:
                    for event in events:
                        shown = True
                        if isinstance(event, Finished):
                            self._refusals.remember(left_out)
                        yield event
            except (BadRequest, AuthFailed) as error:
                plainer = None if shown else self._plainer(error, request, ref)
                if plainer is None or plainer.refusal in (found.refusal for found in left_out):
                    raise
                _log.warning("asked again without what was refused", model=str(ref))
                left_out.append(plainer)
                request = plainer.request
            else:
                return

    def _stream(
        self,
        ref: ModelRef,
        request: LlmRequest,
        profile: Profile,
        interrupt: Interrupt,
        ends: float,
    ) -> Generator[LlmEvent]:
        interrupt.check()
        self._check_key()
        model = ref.model
        call = Call(ends - time.monotonic())
        call.expect(self._endpoint.first_byte_timeout)
        answer = self._answer(ref, call_ids(request))
        sending = self._sending(self._url(model), self._body(model, request, profile))
        with interrupt.freeing(call.cut), self._translated(model, call, interrupt, answer):
            yield from self._exchange(sending, model, call, answer)
        if answer.finish is None and not answer.started:
            raise NetworkFailed(f"{self._endpoint.name}: the answer was empty", retryable=True)
        yield from answer.end()

    def _exchange(
        self,
        sending: AbstractContextManager[httpx2.Response],
        model: str,
        call: Call,
        answer: Answer[Piece],
    ) -> Iterator[LlmEvent]:
        """Send the request and read the stream to its end."""
        with ExitStack() as stack:
            with self._calls.working(call):
                response = stack.enter_context(sending)
            # Runs before the response closes and its line goes back to the pool.
            stack.callback(call.release)
            chunks = self._working(call, response.iter_bytes())
            yield from self._read(chunks, model, call, answer)
            call.hurry(_AFTER_DONE)
            with suppress(httpx2.HTTPError):
                for _ in chunks:
                    pass

    @cached_property
    def _blank(self) -> httpx2.Request:
        """The address and the headers of every request."""
        blank = self._empty_request()
        blank.headers.pop("Content-Length", None)
        return blank

    @contextmanager
    def _sending(self, url: httpx2.URL, body: dict[str, Any]) -> Iterator[httpx2.Response]:
        """Send a body and yield the response once its headers came."""
        request = httpx2.Request(
            "POST",
            url,
            headers=self._blank.headers,
            content=dumped(body),
            extensions=self._waits,
        )
        # Not by the client: cookies, redirects and logins are nothing for a model service.
        response = self._lines.handle_request(request)
        response.request = request
        try:
            if not response.is_success:
                response.read()
                raise self._status_error(response)
            yield response
        finally:
            response.close()

    def _working(self, call: Call, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield chunks, each read on behalf of `call`."""
        while True:
            with self._calls.working(call):
                chunk = next(chunks, None)
            if chunk is None:
                return
            yield chunk
            if call.late or call.overdue:
                raise httpx2.ReadTimeout("the time is up")

    def _read(
        self, chunks: Iterator[bytes], model: str, call: Call, answer: Answer[Piece]
    ) -> Iterator[LlmEvent]:
        """Yield what the events show; returns at the end, raises when there was none."""
        wait = Wait(call, self._endpoint)
        try:
            for event in events_of(wait.begun(chunks)):
                value = self._value(event, model, answer)
                if value is not None:
                    yield from wait.lively(value, answer.add(self._shaped(value)))
                if self._is_last(event, value):
                    return
                if answer.finish is not None:
                    call.hurry(_AFTER_FINISH)
        except httpx2.HTTPError:
            # After the reason to stop the answer is whole; only its usage may be missing.
            if answer.finish is None:
                raise
        if answer.finish is None:
            raise self._cut("the stream ended before the answer did", answer)

    def _value(self, event: Event, model: str, answer: Answer[Piece]) -> dict[str, Any] | None:
        """Return an event's object, None for one without meaning. Raises the error in it."""
        value = loaded(event.data)
        if isinstance(value, list) and len(value) == 1:
            # Errors of some services stand in a list.
            value = value[0]
        if isinstance(value, dict):
            error = self._error_in(event, value)
            if error is not None and answer.finish in (None, "error"):
                raise translate(read_fault(error), self._endpoint, model)
            return value
        if event.stray and not answer.started:
            raise self._no_stream(event.data)
        return None

    def _shaped(self, value: dict[str, Any]) -> Piece:
        try:
            return self._piece(value)
        except ValidationError as error:
            raise self._no_stream(str(value)) from error

    # What goes wrong.

    def _no_stream(self, text: str) -> LlmError:
        said = shorten(hide_secrets(clean(text), self._endpoint), 120)
        # As if the model were missing, since a fallback elsewhere may answer.
        return ModelMissing(
            f"{self._endpoint.name}: what answers at {self._endpoint.address} is no"
            f" {self.service} service; check base_url, {self.address} [it said: {said}]"
        )

    def _cut(self, what: str, answer: Answer[Piece]) -> NetworkFailed:
        failure = NetworkFailed(f"{self._endpoint.name}: {what}", retryable=True)
        failure.usage = answer.usage
        return failure

    def _check_key(self) -> None:
        """Refuse a key that is missing or cannot stand in a header, before anything is sent."""
        if self._endpoint.api_key_env and not self._endpoint.api_key:
            raise translate(Fault(codes=frozenset({"invalid_api_key"})), self._endpoint, "")
        if not all("!" <= character <= "~" for character in self._endpoint.api_key):
            name = self._endpoint.api_key_env or "its variable"
            raise AuthFailed(
                f"{self._endpoint.name}: the value of {name} has spaces or characters that no key"
                " has; copy the key again"
            )

    def _keyless(self, *carriers: str) -> bool:
        """Whether the SDK's own header must go: no key, and no header of one's own has one."""
        named = {name.lower() for name in self._endpoint.headers}
        return not self._endpoint.api_key and not named.intersection(carriers)

    @contextmanager
    def _translated(
        self, model: str, call: Call, interrupt: Interrupt, answer: Answer[Piece]
    ) -> Iterator[None]:
        """Turn what the lines and the SDK's reading of a status raise into the contract's errors.

        An interrupt shuts the socket down, which looks like a failure: it goes first. Nothing is
        chained, since the libraries' errors hold the request with its key.
        """
        try:
            yield
        except (self.errors.all, httpx2.HTTPError, LlmError, TooLong) as error:
            if interrupt.reason is not None:
                raise Interrupted(interrupt.reason) from None
            raise self._meaning(error, model, call, answer) from None

    def _meaning(self, error: Exception, model: str, call: Call, answer: Answer[Piece]) -> LlmError:
        if isinstance(error, LlmError):
            return error
        if isinstance(error, self.errors.status):
            return translate(self._fault(error), self._endpoint, model)
        return self._cut(self._what_broke(error, call), answer)

    def _what_broke(self, error: Exception, call: Call) -> str:
        base = self._endpoint.address
        if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError):
            reason = hide_secrets(shorten(str(error), 160), self._endpoint)
            return f"nothing answers at {base} ({reason}); check that it runs and base_url"
        if isinstance(error, httpx2.TimeoutException) and call.late:
            return f"the answer took longer than {self._endpoint.timeout:g} s (timeout)"
        if isinstance(error, httpx2.TimeoutException):
            return what_was_awaited(call, self._endpoint)
        if isinstance(error, TooLong):
            return f"the answer cannot be read: {error}"
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            return f"the request cannot be sent to {base}; check base_url and headers"
        return f"the connection to {base} broke before the answer was complete"
