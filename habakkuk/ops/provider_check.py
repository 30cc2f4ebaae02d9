"""Ask a provider whether it works: which models it has, and one short answer."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

import httpx2
from pydantic import BaseModel, Field, ValidationError

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.registry import Registry
from habakkuk.llm.types import LlmRequest, Message, ModelRef, Role, Text

_SECONDS = 30.0
_LIST_SECONDS = 5.0
_MOST_BYTES = 5_000_000
# Enough for a model that must think before it speaks; only the first piece is waited for.
_TOKENS = 64
_QUESTION = "Answer with one word: are you there?"
# https://docs.anthropic.com/en/api/versioning: every request names a version.
_MESSAGES_VERSION = "2023-06-01"
# https://ai.google.dev/api/models: what a model can be asked for; others embed or draw.
_ANSWERS = "generateContent"
_VERSION = re.compile(r"/v\d\w*$")


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


class _GeminiModel(BaseModel):
    name: str
    methods: list[str] = Field(default=[_ANSWERS], alias="supportedGenerationMethods")


class _GeminiModels(BaseModel):
    models: list[_GeminiModel]


def try_model(endpoint: Endpoint, model: str) -> None:
    """Have a model begin an answer, through the adapter that turns use.

    Raises LlmError, with what the provider said.
    """
    brief = dataclasses.replace(endpoint, timeout=_SECONDS, first_byte_timeout=_SECONDS)
    ref = ModelRef(endpoint.name, model)
    question = Message(Role.USER, (Text(text=_QUESTION),))
    request = LlmRequest(system="", messages=(question,), max_tokens=_TOKENS)
    registry = Registry({endpoint.name: brief})
    try:
        provider = registry.provider(endpoint.name)
        events = provider.stream(model, request, profile_for(ref), Interrupt())
        next(iter(events))
    finally:
        registry.close()


class Untold(Exception):
    """A provider does not tell which models it has; the text says why, for the operator."""


def list_models(endpoint: Endpoint) -> Sequence[str]:
    """Return the names of the provider's models. Raises Untold when it does not tell."""
    try:
        with httpx2.Client(timeout=_LIST_SECONDS, trust_env=False) as client:
            return _read_models(client, endpoint)
    except httpx2.TimeoutException as error:
        raise Untold(f"no answer within {_LIST_SECONDS:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Untold(f"it cannot be reached: {error}") from error
    except ValidationError as error:
        raise Untold("what it answered is no list of models") from error


def _read_models(client: httpx2.Client, endpoint: Endpoint) -> Sequence[str]:
    with client.stream("GET", _address(endpoint), headers=_headers(endpoint)) as answer:
        if answer.status_code != httpx2.codes.OK:
            raise Untold(f"it answered {answer.status_code} {answer.reason_phrase}".rstrip())
        body = bytearray()
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > _MOST_BYTES:
                raise Untold(f"its list has more than {_MOST_BYTES // 1_000_000} MB")
    return sorted(_names(bytes(body), endpoint))


def _names(body: bytes, endpoint: Endpoint) -> Iterator[str]:
    if endpoint.type == "gemini":
        for model in _GeminiModels.model_validate_json(body).models:
            if _ANSWERS in model.methods:
                yield model.name.removeprefix("models/")
    else:
        # Google names its models so in this format, too.
        models = _Models.model_validate_json(body).data
        yield from (model.id.removeprefix("models/") for model in models)


def _address(endpoint: Endpoint) -> str:
    base = endpoint.base_url.rstrip("/")
    if endpoint.type == "anthropic":
        return base.removesuffix("/v1") + "/v1/models?limit=1000"
    if endpoint.type == "gemini":
        versioned = base if _VERSION.search(base) else f"{base}/v1beta"
        return f"{versioned}/models?pageSize=1000"
    return base + "/models"


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = dict(endpoint.headers)
    if endpoint.type == "anthropic":
        headers["anthropic-version"] = _MESSAGES_VERSION
        key = {"x-api-key": endpoint.api_key}
    elif endpoint.type == "gemini":
        key = {"x-goog-api-key": endpoint.api_key}
    else:
        key = {"authorization": f"Bearer {endpoint.api_key}"}
    return (key if endpoint.api_key else {}) | headers
