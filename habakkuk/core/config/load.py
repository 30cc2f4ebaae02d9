"""Read config.yaml strictly: an error names file, line, key and what would be right."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from habakkuk.core.config.schema import Config
from habakkuk.core.config.shape import check_shape
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.nearest import advice

_MAX_BYTES = 256 * 1024
# More of them nobody reads at once.
_MOST_FAULTS = 50
# What stands there may be a secret that was written in the wrong place: it is not repeated.
_SECRETIVE = {"api_key_env", "headers"}


def load_config(path: Path) -> Config:
    """Return the configuration in `path`; defaults when there is no file.

    Raises ConfigurationError with the faults found, one a line.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_config(raw, path.name)


# A fork of `up` finds there what that has read: reading it again would write 3 MB of shared pages.
@lru_cache(maxsize=1)
def parse_config(raw: bytes, name: str) -> Config:
    """Return the configuration in `raw`; `name` is what errors call the file."""
    tree = _parse_yaml(raw, name)
    if tree is None:
        return Config()
    if not isinstance(tree, CommentedMap):
        raise ConfigurationError(f"{name}:1: the file must be a mapping such as `agents: ...`")
    try:
        config = Config.model_validate(_plain(tree))
    except ValidationError as error:
        found = error.errors()
        faults = [_explain(fault, tree, name) for fault in found[:_MOST_FAULTS]]
        if len(found) > _MOST_FAULTS:
            faults.append(f"{name}: and {len(found) - _MOST_FAULTS} faults more")
        raise ConfigurationError("\n".join(faults)) from error
    _check_references(config, tree, name)
    return config


def _parse_yaml(raw: bytes, name: str) -> Any:
    if len(raw) > _MAX_BYTES:
        raise ConfigurationError(f"{name}: larger than {_MAX_BYTES // 1024} KB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(
            f"{name}:{line}: not valid UTF-8; save the file as UTF-8"
        ) from error
    try:
        check_shape(text, name)
        return YAML().load(StringIO(text))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = (error.problem or error.context or "not valid YAML").splitlines()[0]
        raise ConfigurationError(f"{name}:{line}: {problem}") from error
    except (YAMLError, RecursionError, ValueError) as error:
        raise ConfigurationError(f"{name}: not valid YAML: {str(error).splitlines()[0]}") from error


def _plain(node: Any) -> Any:
    """Turn ruamel's nodes into plain ones. An alias is copied; `check_shape` bounds it."""
    if isinstance(node, CommentedMap):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, CommentedSeq):
        return [_plain(value) for value in node]
    return node


def _line(tree: Any, path: tuple[int | str, ...]) -> int:
    """Return the 1-based line of the deepest part of `path` that stands in the file."""
    node, line = tree, 1
    for part in path:
        key = (
            next((k for k in node if str(k) == part), None)
            if isinstance(node, CommentedMap)
            else part
        )
        if isinstance(node, CommentedMap) and key is not None:
            line = node.lc.key(key)[0] + 1
        elif isinstance(node, CommentedSeq) and isinstance(key, int) and key < len(node):
            line = node.lc.item(key)[0] + 1
        else:
            break
        node = node[key]
    return line


def _explain(fault: ErrorDetails, tree: CommentedMap, name: str) -> str:
    path = tuple(part for part in fault["loc"] if part != "[key]")
    place = f"{name}:{_line(tree, path)}: {'.'.join(str(p) for p in path)}"
    if fault["type"] == "extra_forbidden":
        known = sorted(_known_keys(path[:-1]))
        return f"{place}: unknown key; {advice(str(path[-1]), known, 'known keys')}"
    message = fault["msg"].removeprefix("Value error, ")
    found = "" if _SECRETIVE.intersection(path) else f" (found {fault['input']!r:.80})"
    return f"{place}: {message[0].lower()}{message[1:]}{found}"


def _known_keys(path: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the section at `path` may have."""
    model: Any = Config
    for part in path:
        if isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(str(part))
            model = field.annotation if field else None
        else:
            model = next(
                (a for a in get_args(model) if isinstance(a, type) and issubclass(a, BaseModel)),
                None,
            )
    if isinstance(model, type) and issubclass(model, BaseModel):
        return list(model.model_fields)
    return []


def _agents_meant(config: Config) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Yield where an agent is named, and the name."""
    for agent in config.budgets.agents:
        yield ("budgets", "agents", agent), agent
    for secret, settings in config.secrets.items():
        for number, agent in enumerate(settings.agents):
            yield ("secrets", secret, "agents", number), agent
    for number, route in enumerate(config.routes):
        yield ("routes", number, "agent"), route.agent


def _check_references(config: Config, tree: CommentedMap, name: str) -> None:
    if not config.agents:
        raise ConfigurationError(
            f"{name}:{_line(tree, ('agents',))}: agents: name at least one agent"
        )
    if config.default_agent is not None and config.default_agent not in config.agents:
        line = _line(tree, ("default_agent",))
        raise ConfigurationError(
            f"{name}:{line}: default_agent: {config.default_agent!r} is not among the agents"
            f" ({', '.join(config.agents)})"
        )
    nobody = [
        f"{name}:{_line(tree, path)}: {'.'.join(map(str, path))}: there is no agent {agent!r};"
        f" {advice(agent, config.agents, 'the agents are')}"
        for path, agent in _agents_meant(config)
        if agent not in config.agents
    ]
    if nobody:
        raise ConfigurationError("\n".join(nobody[:_MOST_FAULTS]))
    try:
        ZoneInfo(config.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        line = _line(tree, ("timezone",))
        raise ConfigurationError(
            f"{name}:{line}: timezone: {config.timezone!r} is no zone name such as Europe/Berlin"
        ) from error
