"""Follow a script as a shell would, running nothing: every command it leads to is judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tree_sitter import Node

from habakkuk.tools.hardline.asides import of_variable
from habakkuk.tools.hardline.calls import Refused
from habakkuk.tools.hardline.judging import judge_tree
from habakkuk.tools.hardline.meter import Meter
from habakkuk.tools.hardline.places import example
from habakkuk.tools.hardline.programs import RUNS_DOWNLOAD, Programs
from habakkuk.tools.hardline.reader import read, text_of
from habakkuk.tools.hardline.redirects import REDIRECTS, Redirects
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import DOWNLOADED, SPLIT, UNKNOWN, capped, joined, plain
from habakkuk.tools.hardline.words import Words
from habakkuk.tools.hardline.wrappers import split_fields

# Follows something with what it is given to read and the words that its redirects leave.
_Follow = Callable[[list[str], list[str]], list[str]]


class Runner:
    """Follows one script and all that it starts. Raises Refused, or TooInvolved."""

    def __init__(self) -> None:
        """Start the clock."""
        self._meter = Meter()
        # Redirects that the parser puts around several commands, by the last of them.
        self._behind: dict[int, list[Node]] = {}
        self._words = Words(self._substituted)
        self._redirects = Redirects(self._words)
        self._programs = Programs(self._meter, self._redirects, self)
        self._kinds: dict[str, Callable[[Node, Scope, list[str]], list[str]]] = {
            "command": self._command,
            "pipeline": self._pipeline,
            "redirected_statement": self._redirected,
            "variable_assignment": self._assignment,
            "declaration_command": self._declaration,
            "function_definition": self._function,
            "subshell": self._subshell,
            "for_statement": self._for,
            "if_statement": self._maybe,
            "while_statement": self._maybe,
            "case_statement": self._maybe,
            "c_style_for_statement": self._maybe,
            "list": self._list,
        }

    def script(self, text: str, scope: Scope, stdin: Sequence[str] = (UNKNOWN,)) -> list[str]:
        """Follow a script; return what it prints."""
        if DOWNLOADED in text:
            raise Refused(RUNS_DOWNLOAD)
        text = text.replace(SPLIT, " ")
        with self._meter.deeper():
            root = read(text).root_node
            # What follows goes down the tree by Python's own calls, and over every node of it.
            self._meter.tick(root.descendant_count)
            judge_tree(root)
            said = self.run(root, scope, list(stdin))
            # Where `exec` led all that follows.
            self._pass_on(scope.outputs.get("1", []), said, scope)
            return said

    def run(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        """Follow a part of a script; return what it prints."""
        self._meter.tick()
        stdin = scope.inputs.get("0", stdin)
        behind = self._behind.pop(node.id, None)
        if behind is not None:
            return self._led(node, behind, scope, stdin)
        kind = self._kinds.get(node.type)
        if kind is not None:
            return kind(node, scope, stdin)
        return self._children(node.named_children, scope, stdin)

    def _children(self, nodes: Sequence[Node], scope: Scope, stdin: list[str]) -> list[str]:
        """Follow what runs one after the other; return all that it prints."""
        said = [self.run(node, scope, stdin) for node in nodes if node.type != "comment"]
        texts = [text for values in said for text in values if text]
        if len(said) == 1:
            return said[0]
        return _together(texts)

    def _list(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        first, *rest = node.named_children
        before = self.run(first, scope, stdin)
        unsure = any(child.type == "||" for child in node.children)
        scope.maybe += unsure
        after = [text for child in rest for text in self.run(child, scope, stdin)]
        scope.maybe -= unsure
        return _together([*before, *after])

    def _maybe(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        """Follow every branch: which one is taken nobody knows."""
        for child in node.named_children:
            if child.type not in _STATEMENTS:
                self._words.read(child, scope)
        scope.maybe += 1
        said = [
            text
            for child in node.named_children
            if child.type in _STATEMENTS
            for text in self.run(child, scope, stdin)
        ]
        scope.maybe -= 1
        return _together(said)

    def _for(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        name = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        values = [
            part
            for child in node.children_by_field_name("value")
            for part in split_fields(self._words.read(child, scope))
        ]
        if not node.children_by_field_name("value"):
            # Without `in` each of the script's arguments.
            values = split_fields(scope.values("@"))
        if name is not None:
            each = [example(value, scope) or plain(value) for value in values]
            scope.variables[text_of(name)] = capped(each) or [UNKNOWN]
        scope.maybe += 1
        said = self.run(body, scope, stdin) if body is not None else []
        scope.maybe -= 1
        return said

    def _subshell(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        return self._children(node.named_children, scope.child(), stdin)

    def _pipeline(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        last = len(node.named_children) - 1
        for place, child in enumerate(node.named_children):
            inner = scope.piped(into=place > 0, out=place < last)
            stdin = self.run(child, inner, inner.inputs.get("0", stdin))
        return stdin

    def _substituted(self, node: Node, scope: Scope) -> list[str]:
        """Follow `$(...)` or `<(...)`; what goes into `>(...)` is anything."""
        self._meter.tick()
        inner = scope.piped(into=False, out=True)
        redirects = [child for child in node.named_children if child.type == "file_redirect"]
        if redirects:
            # `$(< file)` is what the file holds.
            for redirect in redirects:
                self._redirects.open(redirect, inner, [UNKNOWN])
            return inner.inputs.get("0", [UNKNOWN])
        return self._children(node.named_children, inner, [UNKNOWN]) or [""]

    def _assignment(self, node: Node, scope: Scope, _stdin: list[str]) -> list[str]:
        name, value = self._assigned(node, scope)
        scope.set(name, value)
        return []

    def _assigned(self, node: Node, scope: Scope) -> tuple[str, list[str]]:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        for index in name.named_children[1:] if name is not None else []:
            self._words.read(index, scope)
        title = text_of(name).partition("[")[0] if name is not None else ""
        read = self._words.read(value, scope) if value is not None else [""]
        parts = [plain(one) for one in split_fields(read)]
        texts = [SPLIT.join(parts)] if _is_array(value) else [plain(_joined(one)) for one in read]
        if any(child.type == "+=" for child in node.children):
            before = scope.values(title)
            texts = capped([*texts, *(old + new for old in before for new in texts)])
        for script in of_variable(title, texts):
            self.script(script, scope.child())
        return title, capped(texts) or [""]

    def _declaration(self, node: Node, scope: Scope, _stdin: list[str]) -> list[str]:
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assignment(child, scope, [])
            else:
                self._words.read(child, scope)
        return []

    def _function(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        """Keep a function, and look through it once in case it is called by other names."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return []
        scope.functions[text_of(name)] = body
        inner = scope.child()
        inner.arguments = None
        with self._meter.deeper():
            self.run(body, inner, stdin)
        return []

    def _redirected(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        body = node.child_by_field_name("body")
        redirects = [one for one in node.named_children if one.type in REDIRECTS]
        said = self._led(body, redirects, scope, stdin)
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                said = self._after_heredoc(redirect, scope, said)
        return said

    def _led(
        self, body: Node | None, redirects: list[Node], scope: Scope, stdin: list[str]
    ) -> list[str]:
        """Follow what redirects belong to: of several commands the last one."""
        if body is not None and body.type in _SEVERAL and body.named_children:
            self._behind[body.named_children[-1].id] = redirects
            return self.run(body, scope, stdin)

        def follow(given: list[str], extra: list[str]) -> list[str]:
            if body is None:
                return []
            if body.type == "command":
                return self._command(body, scope, given, extra)
            return self.run(body, scope, given)

        return self._redirecting(redirects, scope, stdin, follow, stays=_is_exec(body))

    def _redirecting(
        self, nodes: Sequence[Node], scope: Scope, stdin: list[str], follow: _Follow, *, stays: bool
    ) -> list[str]:
        """Follow something with its redirects, which end with it unless it `stays` by exec."""
        if not nodes:
            return follow(stdin, [])
        before = scope.inputs, scope.outputs
        scope.inputs, scope.outputs = dict(scope.inputs), dict(scope.outputs)
        extra = [word for node in nodes for word in self._redirects.open(node, scope, stdin)]
        given, leads = scope.inputs.get("0", stdin), scope.outputs.get("1")
        said = follow(given, extra)
        if leads is not None and leads is not before[1].get("1"):
            self._pass_on(leads, said, scope)
        if not stays:
            scope.inputs, scope.outputs = before
        return said

    def _pass_on(self, paths: Sequence[str], said: list[str], scope: Scope) -> None:
        """Take what was printed to the files that it was led to."""
        self.feed(paths, said)
        self._redirects.keep(paths, said, scope)

    def feed(self, paths: Sequence[str], texts: list[str]) -> None:
        """Follow the commands of `>(...)` with what is written to them."""
        for path in paths:
            fed = self._words.fed(plain(path))
            if fed is not None:
                inner = fed[1].piped(into=True, out=False)
                self._children(fed[0].named_children, inner, texts)

    def _after_heredoc(self, node: Node, scope: Scope, said: list[str]) -> list[str]:
        """Follow what stands on the line of a here-document behind it."""
        for child in node.named_children:
            if child.type == "pipeline":
                said = self._pipeline(child, scope.piped(into=True, out=False), said)
            elif child.type in _STATEMENTS:
                self.run(child, scope, [UNKNOWN])
        return said

    def _command(
        self, node: Node, scope: Scope, stdin: list[str], extra: Sequence[str] = ()
    ) -> list[str]:
        """Read a command's words and follow what it may be."""
        redirects = [one for one in node.named_children if one.type in REDIRECTS]

        def follow(given: list[str], more: list[str]) -> list[str]:
            return self._called(node, scope, given, [*extra, *more])

        return self._redirecting(redirects, scope, stdin, follow, stays=_is_exec(node))

    def _called(
        self, node: Node, scope: Scope, stdin: list[str], extra: Sequence[str]
    ) -> list[str]:
        inner = scope.child()
        given: set[str] = set()
        for child in node.named_children:
            if child.type == "variable_assignment":
                title, values = self._assigned(child, scope)
                inner.set(title, values)
                given.add(title)
        name = node.child_by_field_name("name")
        arguments = [
            part
            for values in self._arguments(node.children_by_field_name("argument"), scope)
            for part in split_fields(values)
        ]
        said: list[str] = []
        for value in self._words.read(name, scope) if name is not None else []:
            argv = [part for part in split_fields([value]) if part]
            argv += [*arguments, *extra]
            said += self._programs.call(argv, inner if given else scope, stdin)
            if given:
                # What a builtin or function sets stays; what stands before the command does not.
                scope.absorb(inner, given)
        return capped(said)

    def _arguments(self, nodes: Sequence[Node], scope: Scope) -> list[list[str]]:
        """Return what each word may be; the parser parts `a=<(b)`, which is one."""
        read: list[list[str]] = []
        end = -1
        for node in nodes:
            values = self._words.read(node, scope)
            if node.start_byte == end:
                read[-1] = joined(read[-1], values)
            else:
                read.append(values)
            end = node.end_byte
        return read


# What runs by itself, among what stands in a condition or a loop.
_STATEMENTS = frozenset(
    """
    command pipeline list redirected_statement subshell compound_statement if_statement
    while_statement for_statement c_style_for_statement case_statement case_item do_group
    elif_clause else_clause variable_assignment variable_assignments declaration_command
    negated_command function_definition test_command unset_command ERROR
    """.split()  # noqa: SIM905 - a line of names
)

_SEVERAL = frozenset({"pipeline", "list", "negated_command"})


def _together(texts: Sequence[str]) -> list[str]:
    """Return what several commands may print: each of them alone, and all."""
    if any(DOWNLOADED in text for text in texts):
        return [DOWNLOADED]
    return capped([*texts, "".join(texts)]) if len(texts) > 1 else list(texts)


def _joined(value: str) -> str:
    return value.replace(SPLIT, " ")


def _is_exec(node: Node | None) -> bool:
    """Whether a command is exec alone, whose redirects hold for all that follows."""
    if node is None or node.type != "command":
        return False
    name = node.child_by_field_name("name")
    words = [text_of(one) for one in node.children_by_field_name("argument")]
    named = all(re.fullmatch(r"\{\w+\}", word) for word in words)
    return name is not None and text_of(name) == "exec" and named


def _is_array(node: Node | None) -> bool:
    return node is not None and node.type == "array"
