"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("habakkuk", "web", "workers", "migrations", "scripts")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_ARGUMENTS = 6
VAGUE = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _is_python(path: Path) -> bool:
    if path.suffix == ".py":
        return True
    if path.suffix or not path.is_file():
        return False
    first = path.read_bytes().partition(b"\n")[0]
    return first.startswith(b"#!") and b"python" in first


def _files(*folders: str) -> list[Path]:
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    return [path for path in found if "__pycache__" not in path.parts and _is_python(path)]


def _functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _arguments(function: Function) -> int:
    """Count what a caller passes: not self and cls."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    own = bool(named) and named[0].arg in {"self", "cls"}
    return len(named) + len(arguments.kwonlyargs) - own


def _where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def _expect_none(found: Iterable[str]) -> None:
    places = list(found)
    assert not places, "\n" + "\n".join(places)


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def test_there_are_sources_to_look_at() -> None:
    assert len(_files("habakkuk")) > 10


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in _files(*SOURCES)}
    _expect_none(_where(path, n) for path, n in lengths.items() if n > MAX_FILE_LINES)


def test_no_function_is_too_long() -> None:
    _expect_none(
        f"{_where(path, node.lineno)} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path in _files(*SOURCES)
        for node in _functions(path)
        if node.end_lineno is not None and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    )


def test_no_function_takes_too_many_arguments() -> None:
    _expect_none(
        f"{_where(path, node.lineno)} {node.name}: {_arguments(node)} arguments"
        for path in _files(*SOURCES)
        for node in _functions(path)
        if _arguments(node) > MAX_ARGUMENTS
    )


def test_modules_are_named_for_what_they_hold() -> None:
    names = {path: {path.stem, *path.relative_to(ROOT).parts} for path in _files(*SOURCES)}
    _expect_none(str(path) for path, parts in names.items() if parts & VAGUE)


def test_every_exemption_has_a_reason() -> None:
    """`# noqa: CODE - reason`, and for types the same, or a second comment."""
    reasoned = re.compile(r"#\s*(noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])\s*(-|#)\s*\S+")
    marked = re.compile(r"#\s*(noqa|type:\s*ignore)\b")
    _expect_none(
        f"{_where(path, line)} {comment}"
        for path in _files(*SOURCES, "tests")
        for line, comment in _comments(path)
        if marked.search(comment) and not reasoned.search(comment)
    )


def test_no_rule_is_switched_off_for_a_whole_file() -> None:
    _expect_none(
        f"{_where(path, line)} {comment}"
        for path in _files(*SOURCES)
        for line, comment in _comments(path)
        if re.search(r"ruff:\s*(noqa|disable)|flake8:\s*noqa|mypy:|pragma: no cover", comment)
    )


def test_only_the_configuration_reads_the_environment() -> None:
    allowed = ROOT / "habakkuk" / "core" / "config"
    _expect_none(
        _where(path, node.lineno)
        for path in _files(*SOURCES)
        if not path.is_relative_to(allowed)
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and node.attr in ENVIRONMENT
    )


def test_redis_clients_are_made_in_one_place() -> None:
    making = re.compile(r"\b(Strict)?Redis(\.from_url)?\(|\bredis\.\w*Pool\(")
    allowed = ROOT / "habakkuk" / "core" / "redis.py"
    _expect_none(
        _where(path, number)
        for path in _files(*SOURCES)
        if path != allowed
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if making.search(line)
    )


def test_failpoint_names_are_unique() -> None:
    named = re.compile(r'\b_?hit\(\s*"([^"]+)"')
    hits = Counter(
        name
        for path in _files("habakkuk", "web", "workers")
        for name in named.findall(path.read_text("utf-8"))
    )
    _expect_none(name for name, count in hits.items() if count > 1)


def test_modules_hold_no_state() -> None:
    """A lower-case name at a module's top that holds a fresh list, dict or set is state."""
    fresh = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    _expect_none(
        f"{_where(path, node.lineno)} {target.id}"
        for path in _files("habakkuk", "web", "workers")
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.Assign) and isinstance(node.value, fresh)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.islower() and not target.id.endswith("__")
    )


def _builders(paths: list[Path]) -> set[str]:
    """Return the names of what makes a statement: text, and the functions that return one."""
    made = {
        function.name
        for path in paths
        for function in _functions(path)
        if function.returns is not None and ast.unparse(function.returns).endswith("TextClause")
    }
    return {"text", *made}


def test_statements_are_built_once_and_from_constants() -> None:
    """SQL put together while the program runs could hold a value; so `text(f"…")` stands at the
    top of its module, where there are only constants (the linter's S608 is off in stores)."""
    stores = [path for path in _files("habakkuk") if "store" in {*path.parts, path.stem}]
    builders = _builders(stores)
    _expect_none(
        _where(path, call.lineno)
        for path in stores
        for function in _functions(path)
        if function.name not in builders
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in builders
        and not all(isinstance(argument, ast.Constant) for argument in call.args)
    )


def test_no_global_statement() -> None:
    _expect_none(
        _where(path, node.lineno)
        for path in _files(*SOURCES)
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Global)
    )


@pytest.mark.parametrize("folder", ["unit", "contract", "integration", "e2e", "crash"])
def test_test_folders_are_no_packages(folder: str) -> None:
    """A folder tests/unit/habakkuk with an __init__ would take the name of the real package."""
    found = (ROOT / "tests" / folder).rglob("__init__.py")
    _expect_none(str(path.relative_to(ROOT)) for path in found)
