"""Files on their way to a model: sent as they are, made smaller, or told as a note that says why.

Which files of a long conversation are still sent depends only on the files before and on steps, so
that what was sent once is sent again, byte for byte, as long as possible, and the provider's cache
holds:

- Of the turns in which files came, the last four at least are sent with them. The older ones become
  notes four turns at a time: at the eighth turn with files the first four, at the twelfth the next.
- When those that are left are more than a request takes, the oldest become notes until half of it
  is free again, as often as it was full on the way from the first to the last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from habakkuk.core.errors import NotFound
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.text import clean, shorten, size_text
from habakkuk.llm.contract import Endpoint, Profile, Screened
from habakkuk.llm.media import pdf
from habakkuk.llm.media.images import Images, Unread
from habakkuk.llm.media.kept import Held, Kept, LeftOut, Made, Whole
from habakkuk.llm.media.sniff import PDF, sniff
from habakkuk.llm.media.types import Fitted, ImageLimits, Unfit, encoded_size
from habakkuk.llm.profiles.limits import FileLimits, limits_for, takes_documents
from habakkuk.llm.types import (
    LlmRequest,
    Media,
    Message,
    ModelRef,
    Payload,
    Role,
    Text,
    ToolResult,
)

_STEP = 4
_KEPT_BYTES = 64_000_000
_OLD = LeftOut("it was sent earlier and is left out by now")
_FULL = LeftOut("it does not fit into one request beside the others")
_REFUSED = LeftOut("the service took no request with it")
_GONE = LeftOut("it is not there any more")
_MB = 1_000_000
_LONGEST_NAME = 100


@dataclass(frozen=True)
class _Place:
    """A file in a request: the index of its message and of its block there."""

    message: int
    block: int
    media: Media


class Screening:
    """Fits the files of requests to models; implements contract.Screen. Thread-safe."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        load: Callable[[str], bytes],
        images: Images,
        *,
        kept_bytes: int = _KEPT_BYTES,
    ) -> None:
        """`load` returns a blob's bytes and raises NotFound; `kept_bytes` bounds what is held."""
        self._endpoints = dict(endpoints)
        self._load = load
        self._images = images
        self._kept = Kept(kept_bytes)

    def fit(
        self, request: LlmRequest, model: ModelRef, profile: Profile, interrupt: Interrupt
    ) -> Screened:
        """Return the request with payloads, and with notes for files that cannot be sent.

        Notices name those of the newest message. Raises Interrupted, and what `load` raises beside
        NotFound.
        """
        places = list(_places(request.messages))
        if not places:
            return Screened(request)
        taker = _Taker.of(self._endpoints.get(model.provider), profile)
        first = _first_kept(request.messages, places)
        recent = [place for place in places if place.message >= first]
        made = [self._made(place.media, taker, interrupt) for place in recent]
        made = _within(recent, made, taker.limits)
        old: list[Made] = [_OLD] * (len(places) - len(recent))
        return Screened(
            _replaced(request, places, [*old, *made]),
            tuple(_notices(request.messages, recent, made, model)),
        )

    def without_files(self, request: LlmRequest) -> LlmRequest:
        """Return the request with a note in the place of every file."""
        places = list(_places(request.messages))
        return _replaced(request, places, [_REFUSED] * len(places))

    def _made(self, media: Media, taker: _Taker, interrupt: Interrupt) -> Made:
        """Return the payload of a file, or why there is none."""
        key = (media.blob, taker)
        held = self._kept.get(key)
        if held is not None and not isinstance(held, Whole):
            return held
        try:
            data = self._load(media.blob)
        except (NotFound, OSError):
            # Not held: it may be back at the next call.
            return _GONE
        if held is not None:
            return Payload(held.mime, data)
        made: Made
        try:
            made = taker.take(data, partial(self._images.fit, interrupt=interrupt))
        except Unread as unread:
            # Not held either: the next call may be luckier.
            return LeftOut(str(unread), len(data))
        except Unfit as unfit:
            made = LeftOut(str(unfit), len(data))
        self._kept.put(key, _to_keep(made, data))
        return made


@dataclass(frozen=True)
class _Taker:
    """What a model at an endpoint takes."""

    vision: bool
    documents: bool
    limits: FileLimits

    @classmethod
    def of(cls, endpoint: Endpoint | None, profile: Profile) -> _Taker:
        return cls(
            vision=profile.vision,
            documents=takes_documents(endpoint, profile),
            limits=limits_for(endpoint, profile),
        )

    def take(self, data: bytes, fit: Callable[[bytes, str, ImageLimits], Fitted]) -> Payload:
        """Return the file as it can be sent, images by `fit`. Raises Unfit."""
        mime = sniff(data)
        if mime is None:
            raise Unfit("models are sent images and PDFs only")
        if mime == PDF:
            return self._document(data)
        if not self.vision:
            raise Unfit("this model cannot see images")
        fitted = fit(data, mime, self.limits.image)
        return Payload(fitted.mime, fitted.data)

    def _document(self, data: bytes) -> Payload:
        if not self.documents:
            raise Unfit("this model cannot read PDFs")
        if pdf.protected(data):
            raise Unfit("it is protected by a password")
        if not pdf.whole(data):
            raise Unfit("it is damaged")
        if encoded_size(data) > self.limits.document_bytes:
            raise Unfit(f"at most {self.limits.document_bytes * 3 // 4 // _MB} MB can be sent")
        most = self.limits.pages
        if most is not None and (pages := pdf.pages(data)) > most:
            raise Unfit(f"it has {pages} pages, and at most {most} can be sent")
        return Payload(PDF, data)


def _to_keep(made: Made, data: bytes) -> Held:
    """Leave out the bytes of a file that goes as it is: they would push out what took work."""
    return Whole(made.mime) if isinstance(made, Payload) and made.data is data else made


def _places(messages: Sequence[Message]) -> Iterator[_Place]:
    # Of 10,000 messages few have files.
    with_files = [n for n, message in enumerate(messages) if message.has_files]
    for index in with_files:
        for number, block in enumerate(messages[index].blocks):
            if isinstance(block, Media):
                yield _Place(index, number, block)


def _first_kept(messages: Sequence[Message], places: Sequence[_Place]) -> int:
    """Return the index of the first message whose files are not old."""
    turns: list[int] = []
    # What stands before the first turn counts as one of its own.
    looked, turn = -1, 0
    for place in places:
        between = range(place.message, looked, -1)
        turn = next((n for n in between if _begins_turn(messages[n])), turn)
        looked = place.message
        if not turns or turns[-1] != turn:
            turns.append(turn)
    dropped = max(0, len(turns) // _STEP - 1) * _STEP
    return turns[dropped]


def _begins_turn(message: Message) -> bool:
    return message.role is Role.USER and not _brings_results(message)


def _brings_results(message: Message) -> bool:
    return ToolResult in map(type, message.blocks)


def _within(places: Sequence[_Place], made: Sequence[Made], limits: FileLimits) -> list[Made]:
    """Return what was made, with reasons in place of files that are too much together."""
    result = list(made)
    held: deque[int] = deque()
    size = 0
    for index, one in enumerate(made):
        if isinstance(one, LeftOut):
            continue
        held.append(index)
        size += encoded_size(one.data)
        if size <= limits.file_bytes and len(held) <= limits.images:
            continue
        message = places[index].message
        while held and places[held[0]].message < message and _half_full(size, held, limits):
            size -= _drop(result, held.popleft(), _OLD)
        if size > limits.file_bytes or len(held) > limits.images:
            # Those of one message are alone too much: the first ones of it are sent.
            size -= _drop(result, held.pop(), _FULL)
    return result


def _half_full(size: int, held: Sequence[int], limits: FileLimits) -> bool:
    return size > limits.file_bytes // 2 or len(held) > max(1, limits.images // 2)


def _drop(made: list[Made], index: int, reason: LeftOut) -> int:
    """Put a reason in the place of a payload; return the size that it had."""
    dropped = made[index]
    made[index] = reason
    return encoded_size(dropped.data) if isinstance(dropped, Payload) else 0


def _replaced(request: LlmRequest, places: Sequence[_Place], made: Sequence[Made]) -> LlmRequest:
    """Return the request with notes where there are reasons, and with the payloads."""
    notes: dict[int, dict[int, Text]] = {}
    payloads: dict[str, Payload] = {}
    for place, one in zip(places, made, strict=True):
        if isinstance(one, Payload):
            payloads[place.media.blob] = one
        else:
            note = Text(text=_note(place.media, one), note=True)
            notes.setdefault(place.message, {})[place.block] = note
    messages = list(request.messages)
    for index, own in notes.items():
        messages[index] = _with_notes(messages[index], own)
    return replace(request, messages=tuple(messages), payloads=payloads)


def _with_notes(message: Message, notes: Mapping[int, Text]) -> Message:
    blocks = tuple(notes.get(number, block) for number, block in enumerate(message.blocks))
    return replace(message, blocks=blocks)


def _note(media: Media, left_out: LeftOut) -> str:
    kind = "image" if media.mime.startswith("image/") else "file"
    size = f", {size_text(left_out.size)}" if left_out.size is not None else ""
    name = _name(media)
    return f"({kind}{' ' if name else ''}{name}{size}: {left_out.reason})"


def _name(media: Media) -> str:
    """Return how a file is called, on one line; empty when it has no name."""
    return shorten(clean(media.name or ""), _LONGEST_NAME)


def _notices(
    messages: Sequence[Message], places: Sequence[_Place], made: Sequence[Made], model: ModelRef
) -> Iterator[str]:
    """Yield what the person who just sent files should know; a later step says nothing again."""
    last = len(messages) - 1
    if _brings_results(messages[last]):
        return
    for place, one in zip(places, made, strict=True):
        if place.message == last and isinstance(one, LeftOut):
            name = _name(place.media) or f"a file ({place.media.mime})"
            yield f"{name} was not shown to {model}: {one.reason}"
