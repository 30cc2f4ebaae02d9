"""How long texts are in tokens, where no provider has said it.

A guess costs nothing and is marked as one. The vocabularies of bpe-openai are exact for OpenAI's
models and near for others; one takes 70 MB and a tenth of a second to load, so only what has to
know asks.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from functools import cache
from importlib.machinery import PathFinder
from typing import Protocol

import orjson

from habakkuk.llm.types import Block, Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult

# What a picture takes at most at the services that name a number, and a page of a PDF.
_FILE_TOKENS = 1600
# The marks around a message and each of its blocks.
_AROUND = 4
Count = Callable[[str], int]


class _Vocabulary(Protocol):
    def count(self, text: str) -> int: ...


def guess(text: str) -> int:
    """Return the tokens of a text by its length: four bytes each, which is near for most texts."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


@cache
def exact_count() -> Count:
    """Load a vocabulary and return what counts with it."""
    return _vocabulary("o200k_base").count


def _vocabulary(name: str) -> _Vocabulary:
    # The library's own extension without its package, which at its import reads three vocabularies
    # once more into dictionaries of Python: nine times as long, and as much memory again.
    package = importlib.util.find_spec("bpe_openai")
    places = None if package is None else package.submodule_search_locations
    spec = PathFinder.find_spec("bpe_openai._bindings", places)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("bpe-openai is not installed: install the requirements")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vocabulary: _Vocabulary = module.tokenizer_for_encoding(name)
    return vocabulary


def of_message(message: Message, count: Count = guess) -> int:
    """Return the tokens of a message, near enough: providers add marks of their own."""
    if count is not guess:
        return _AROUND + sum(_AROUND + of_block(block, count) for block in message.blocks)
    files = sum(isinstance(block, Media) for block in message.blocks)
    around = _AROUND * (1 + len(message.blocks))
    return around + files * _FILE_TOKENS + (message.size + 3) // 4


def of_messages(messages: Iterable[Message], count: Count = guess) -> int:
    """Return the tokens of messages together."""
    return sum(of_message(message, count) for message in messages)


def of_block(block: Block, count: Count = guess) -> int:
    """Return the tokens of one block. A file counts as what providers ask for one."""
    if isinstance(block, Text | Thinking | ToolResult):
        return count(block.text)
    if isinstance(block, ToolCall):
        return count(block.name) + count(orjson.dumps(block.input).decode())
    if isinstance(block, Media):
        return _FILE_TOKENS
    if isinstance(block, Opaque):
        return count(orjson.dumps(block.data).decode())
    raise AssertionError(f"a block of an unknown kind: {block!r}")
