"""Call a Chat Completions service: the official SDK's client over lines that can be cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx2
import openai
from pydantic import ValidationError

from habakkuk.core.errors import ConfigurationError, LlmError
from habakkuk.core.interrupt import Interrupt, Interrupted
from habakkuk.core.lines import Call, Calls
from habakkuk.core.text import shorten
from habakkuk.llm.contract import AuthFailed, Endpoint, ModelMissing, NetworkFailed, Profile
from habakkuk.llm.faults import Fault, hide_secrets, plain_headers, read_fault, translate
from habakkuk.llm.providers.openai.answer import Answer
from habakkuk.llm.providers.openai.encode import request_body
from habakkuk.llm.providers.openai.sse import Event, TooLong, events
from habakkuk.llm.providers.openai.wire import Chunk
from habakkuk.llm.transport import line_client, line_timeout
from habakkuk.llm.types import LlmEvent, LlmRequest, ModelRef, ToolCall

# How long to read on after the end was seen, for usage (after finish_reason) and for the last
# bytes, which let the connection be used again. A slow server costs no more than this.
_AFTER_FINISH = 5.0
_AFTER_DONE = 0.05
_DONE = "[DONE]"


def build(endpoint: Endpoint) -> OpenAIProvider:
    """Return the provider for an endpoint; the registry calls it."""
    return OpenAIProvider(endpoint)


def warm() -> None:
    """Load what the SDK loads lazily, so that no turn waits for it."""
    client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1:9", max_retries=0)
    _ = client.chat.completions.with_streaming_response
    client.close()
    Chunk.model_validate({"choices": [{"delta": {"content": ""}}]})


class OpenAIProvider:
    """One endpoint that speaks Chat Completions."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Make the client; nothing is sent. Raises ConfigurationError for an impossible URL."""
        self._endpoint = endpoint
        self._calls = Calls()
        self._client = self._make_client()

    def _make_client(self) -> openai.OpenAI:
        endpoint = self._endpoint
        try:
            client = openai.OpenAI(
                api_key=endpoint.api_key or "none",
                base_url=endpoint.base_url,
                max_retries=0,
                timeout=line_timeout(endpoint.stall_timeout),
                default_headers=endpoint.headers,
                http_client=line_client(self._calls, endpoint.stall_timeout),
            )
        except httpx2.InvalidURL as error:
            raise ConfigurationError(
                f"providers.{endpoint.name}.base_url: {endpoint.address!r} is no URL: {error}"
            ) from error
        # The SDK takes these from the environment, and would send them to any service.
        client.organization = None
        client.project = None
        return client

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def stream(
        self, model: str, request: LlmRequest, profile: Profile, interrupt: Interrupt
    ) -> Iterator[LlmEvent]:
        """Yield events as they arrive, Finished last; see Provider.stream."""
        interrupt.check()
        self._check_key()
        call = Call(self._endpoint.timeout)
        answer = Answer(ModelRef(self._endpoint.name, model), _ids(request))
        body = request_body(request, profile, self._endpoint.dialect)
        with interrupt.freeing(call.cut), self._translated(model, call, interrupt, answer):
            yield from self._exchange(model, body, call, answer)
        if answer.finish is None and not answer.started:
            raise NetworkFailed(f"{self._endpoint.name}: the answer was empty", retryable=True)
        yield from answer.end()

    def _exchange(
        self, model: str, body: dict[str, Any], call: Call, answer: Answer
    ) -> Iterator[LlmEvent]:
        """Send the request and read the stream to its end."""
        with ExitStack() as stack:
            with self._calls.working(call):
                response = stack.enter_context(
                    self._client.chat.completions.with_streaming_response.create(
                        model=model,
                        messages=[],
                        stream=True,
                        extra_body=body,
                        extra_headers=self._extra_headers(),
                    )
                )
            # Runs before the response closes and its line goes back to the pool.
            stack.callback(call.release)
            chunks = self._working(call, response.iter_bytes())
            yield from self._read(chunks, model, call, answer)
            call.hurry(_AFTER_DONE)
            with suppress(httpx2.HTTPError):
                for _ in chunks:
                    pass

    def _extra_headers(self) -> dict[str, Any]:
        """Return what takes the SDK's own header away where there is no key to send."""
        named = {name.lower() for name in self._endpoint.headers}
        keyless = not self._endpoint.api_key and "authorization" not in named
        return {"Authorization": openai.Omit()} if keyless else {}

    def _working(self, call: Call, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield chunks, each read on behalf of `call`."""
        while True:
            with self._calls.working(call):
                chunk = next(chunks, None)
            if chunk is None:
                return
            yield chunk
            if call.late:
                raise httpx2.ReadTimeout("the call's time is up")

    def _read(
        self, chunks: Iterator[bytes], model: str, call: Call, answer: Answer
    ) -> Iterator[LlmEvent]:
        """Yield what the events show; returns at the end, raises when there was none."""
        try:
            for event in events(chunks):
                if event.data.strip() == _DONE:
                    return
                chunk = self._chunk(event, model, answer)
                if chunk is not None:
                    yield from answer.add(chunk)
                if answer.finish is not None:
                    call.hurry(_AFTER_FINISH)
        except httpx2.HTTPError:
            # After finish_reason the answer is whole; only its usage may be missing.
            if answer.finish is None:
                raise
        if answer.finish is None:
            raise self._cut("the stream ended before the answer did", answer)

    def _chunk(self, event: Event, model: str, answer: Answer) -> Chunk | None:
        """Return what an event holds, None for one without meaning. Raises the error in it."""
        try:
            value = json.loads(event.data)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            chunk = self._parse(value)
            failed = bool(chunk.error) or event.name == "error" or value.get("object") == "error"
            if failed and answer.finish in (None, "error"):
                raise translate(read_fault(value), self._endpoint, model)
            return chunk
        if event.stray and not answer.started:
            raise self._no_stream(event.data)
        return None

    def _parse(self, value: dict[str, Any]) -> Chunk:
        try:
            return Chunk.model_validate(value)
        except ValidationError as error:
            raise self._no_stream(str(value)) from error

    def _no_stream(self, text: str) -> LlmError:
        said = shorten(hide_secrets(text, self._endpoint), 120)
        # As if the model were missing, since a fallback elsewhere may answer.
        return ModelMissing(
            f"{self._endpoint.name}: what answers at {self._endpoint.address} is no"
            " Chat Completions service; check base_url, which often ends in /v1"
            f" [it said: {said}]"
        )

    def _cut(self, what: str, answer: Answer) -> NetworkFailed:
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

    @contextmanager
    def _translated(
        self, model: str, call: Call, interrupt: Interrupt, answer: Answer
    ) -> Iterator[None]:
        """Turn what the SDK and the lines raise into the contract's errors.

        An interrupt shuts the socket down, which looks like a failure: it goes first. Nothing is
        chained, since the library's errors hold the request with its key.
        """
        try:
            yield
        except (openai.OpenAIError, httpx2.HTTPError, LlmError, TooLong) as error:
            if interrupt.reason is not None:
                raise Interrupted(interrupt.reason) from None
            raise self._meaning(error, model, call, answer) from None

    def _meaning(self, error: Exception, model: str, call: Call, answer: Answer) -> LlmError:
        if isinstance(error, LlmError):
            return error
        if isinstance(error, openai.APIStatusError):
            headers = plain_headers(error.response.headers)
            fault = read_fault(error.body, error.status_code, headers)
            return translate(fault, self._endpoint, model)
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        return self._cut(self._what_broke(cause or error, call), answer)

    def _what_broke(self, error: BaseException, call: Call) -> str:
        base = self._endpoint.address
        if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError):
            reason = hide_secrets(shorten(str(error), 160), self._endpoint)
            return f"nothing answers at {base} ({reason}); check that it runs and base_url"
        if isinstance(error, httpx2.TimeoutException) and call.late:
            return f"the answer took longer than {self._endpoint.timeout:g} s (timeout)"
        if isinstance(error, httpx2.TimeoutException):
            return f"nothing came for {self._endpoint.stall_timeout:g} s (stall_timeout)"
        if isinstance(error, TooLong):
            return f"the answer cannot be read: {error}"
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            return f"the request cannot be sent to {base}; check base_url and headers"
        return f"the connection to {base} broke before the answer was complete"


def _ids(request: LlmRequest) -> Iterator[str]:
    """Yield the ids of the calls in the transcript."""
    for message in request.messages:
        yield from (block.id for block in message.blocks if isinstance(block, ToolCall))
