"""OpenAI Chat Completions as a server speaks it: requests understood, answers put in its shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field

from habakkuk.blobs.incoming import IncomingFile
from habakkuk.conversations.files import Attached
from habakkuk.core.ids import derive
from habakkuk.interop.openai_parts import Part, file_of, text_of
from habakkuk.interop.refused import RefusedParameter
from habakkuk.llm.types import Block, Media, Role, Text, Usage, blocks_to_json

MODEL_PREFIX = "habakkuk/"
_INSTRUCTIONS = "[Instructions from the client]\n"
_BEGUN = "[The client's conversation begins with an answer]"
# Files apart, which may make a request far larger.
_MOST_TEXT = 2_000_000
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


class ClientMessage(BaseModel):
    """One message of a request."""

    model_config = ConfigDict(extra="ignore", strict=True)

    role: str = Field(max_length=100)
    content: str | list[Part] | None = None


class StreamOptions(BaseModel):
    """What a stream should carry besides."""

    model_config = ConfigDict(extra="ignore", strict=True)

    include_usage: bool | None = None


class CompletionRequest(BaseModel):
    """A request body. Sampling parameters and whatever else is unknown are accepted and ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)

    model: str = Field(default="", max_length=300)
    messages: list[ClientMessage] = Field(min_length=1, max_length=10_000)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None


class ErrorDetail(BaseModel):
    """What went wrong, as OpenAI's clients read it."""

    message: str
    type: str
    param: str | None
    code: str | None


class CompletionError(BaseModel):
    """Every error of the OpenAI-compatible API."""

    error: ErrorDetail


@dataclass(frozen=True)
class Ask:
    """A request understood: the text and files to answer, and what a new session starts with.

    `given` holds the bytes of `files`, `earlier` those of the files that the seed names.
    """

    text: str
    seed: list[dict[str, Any]] = field(default_factory=list)
    files: tuple[Attached, ...] = ()
    given: tuple[IncomingFile, ...] = ()
    earlier: tuple[IncomingFile, ...] = ()

    def fingerprint(self, model: str) -> str:
        """Return what tells requests to a model apart that carry one Idempotency-Key."""
        files = [(file.blob, file.mime, file.name) for file in self.files]
        return derive("req", orjson.dumps([model, self.seed, self.text, files]).decode())


@dataclass(frozen=True)
class _Content:
    """What one message says."""

    text: str
    files: tuple[IncomingFile, ...] = ()


@dataclass(frozen=True)
class Frame:
    """What every part of one answer repeats. `created` is in seconds since 1970.

    `earlier` says that the turn was there before this request, so that events of it have gone by.
    """

    turn: str
    session: str
    model: str
    created: int
    earlier: bool = False

    @property
    def id(self) -> str:
        """The answer's id, the same for a repeated request."""
        return f"chatcmpl-{self.turn}"


def read(request: CompletionRequest) -> Ask:
    """Return what a request asks for. Raises RefusedParameter."""
    if request.tools or request.functions:
        param = "tools" if request.tools else "functions"
        raise RefusedParameter(
            "the agent works with its own tools; leave out `tools` and `functions`", param
        )
    if request.n is not None and request.n != 1:
        raise RefusedParameter("one answer a request is given; leave out `n` or send 1", "n")
    said = [_content(message, place) for place, message in enumerate(request.messages)]
    if sum(len(content.text) for content in said) > _MOST_TEXT:
        raise RefusedParameter(
            f"the messages have more than {_MOST_TEXT:,} characters of text", "messages"
        )
    last = len(said) - 1
    if request.messages[last].role != "user":
        raise RefusedParameter("the last message must have the role user", f"messages.{last}.role")
    return Ask(
        said[last].text,
        _seed(request.messages[:-1], said[:-1]),
        tuple(Attached(one.blob, one.mime, one.name, len(one.data)) for one in said[last].files),
        said[last].files,
        tuple(one for content in said[:last] for one in content.files),
    )


def has_files(request: CompletionRequest) -> bool:
    """Whether a request brings more than text, which may take a while to read."""
    parts = [m.content for m in request.messages if not isinstance(m.content, str)]
    return any(part.type != "text" for each in parts for part in each or ())


def agent_of(model: str, agents: Iterable[str], default: str) -> str:
    """Return the agent that a model name means: any other name means the default."""
    name = model.removeprefix(MODEL_PREFIX)
    return name if model.startswith(MODEL_PREFIX) and name in set(agents) else default


def _content(message: ClientMessage, place: int) -> _Content:
    if message.role not in {"system", "developer", *_ROLES}:
        raise RefusedParameter(
            f"the role {message.role[:40]!r} is not accepted; send system, developer, user and"
            " assistant messages",
            f"messages.{place}.role",
        )
    if isinstance(message.content, str):
        return _Content(message.content)
    texts: list[str] = []
    files: list[IncomingFile] = []
    for number, part in enumerate(message.content or []):
        where = f"messages.{place}.content.{number}"
        text = text_of(part)
        if text is not None:
            texts.append(text)
        elif message.role != "user" and part.type in {"image_url", "file"}:
            raise RefusedParameter("files may stand in user messages only", where)
        else:
            files.append(file_of(part, where))
    return _Content("\n".join(texts), tuple(files))


def _seed(messages: Sequence[ClientMessage], said: Sequence[_Content]) -> list[dict[str, Any]]:
    """Return the earlier messages as transcript JSON that begins with the user and alternates."""
    notes = []
    spoken: list[tuple[Role, list[Block]]] = []
    for message, content in zip(messages, said, strict=True):
        role = _ROLES.get(message.role)
        if not content.text.strip() and not content.files:
            continue
        if role is None:
            notes.append(content.text)
        elif spoken and spoken[-1][0] is role:
            spoken[-1][1].extend(_blocks(content, "\n\n"))
        else:
            spoken.append((role, list(_blocks(content))))
    begun: list[Block] = []
    if notes:
        begun = [Text(text=_INSTRUCTIONS + "\n\n".join(notes) + "\n\n")]
    if spoken and spoken[0][0] is Role.USER:
        spoken[0][1][:0] = begun
    elif spoken or begun:
        spoken.insert(0, (Role.USER, begun or [Text(text=_BEGUN)]))
    return [{"role": str(role), "blocks": blocks_to_json(blocks)} for role, blocks in spoken]


def _blocks(content: _Content, before: str = "") -> Iterator[Block]:
    for file in content.files:
        yield Media(blob=file.blob, mime=file.mime, name=file.name)
    if content.text.strip():
        yield Text(text=before + content.text)


def completion(frame: Frame, text: str, finish: str, usage: Usage | None) -> dict[str, Any]:
    """Return a whole answer."""
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    body = _framed(frame, "chat.completion") | {"choices": [choice]}
    return body | ({"usage": usage_body(usage)} if usage is not None else {})


def chunk(frame: Frame, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
    """Return one piece of a streamed answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return _framed(frame, "chat.completion.chunk") | {"choices": [choice]}


def usage_chunk(frame: Frame, usage: Usage) -> dict[str, Any]:
    """Return the piece after the last, which carries the usage alone."""
    return _framed(frame, "chat.completion.chunk") | {"choices": [], "usage": usage_body(usage)}


def _framed(frame: Frame, kind: str) -> dict[str, Any]:
    own = {"session": frame.session, "turn": frame.turn}
    return {
        "id": frame.id,
        "object": kind,
        "created": frame.created,
        "model": frame.model,
        "habakkuk": own,
    }


def usage_body(usage: Usage) -> dict[str, Any]:
    """Return tokens as OpenAI counts them."""
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def error_body(
    message: str, kind: str, param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """Return an error."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def models(agents: Iterable[str], created: int) -> dict[str, Any]:
    """Return the list of models: one an agent."""
    return {
        "object": "list",
        "data": [
            {
                "id": MODEL_PREFIX + agent,
                "object": "model",
                "created": created,
                "owned_by": "habakkuk",
            }
            for agent in agents
        ],
    }
