"""Follow a script as a shell would, running nothing: every command it leads to is judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tree_sitter import Node

from habakkuk.tools.hardline.calls import Refused
from habakkuk.tools.hardline.meter import Meter
from habakkuk.tools.hardline.places import example
from habakkuk.tools.hardline.programs import RUNS_DOWNLOAD, Programs, all_rules
from habakkuk.tools.hardline.reader import read, text_of
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import DOWNLOADED, SPLIT, UNKNOWN, capped, plain
from habakkuk.tools.hardline.words import Words
from habakkuk.tools.hardline.wrappers import split_fields


class Runner:
    """Follows one script and all that it starts. Raises Refused, or TooInvolved."""

    def __init__(self) -> None:
        """Start the clock."""
        self._meter = Meter()
        # Files that the redirects of the command at hand write.
        self._written: list[str] = []
        self._words = Words(self._substituted)
        self._programs = Programs(self._meter, self._words, self)
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
            for rule in all_rules():
                judge = getattr(rule, "judge_tree", None)
                found = judge(root) if judge is not None else None
                if found is not None:
                    raise Refused(found)
            return self.run(root, scope, list(stdin))

    def run(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        """Follow a part of a script; return what it prints."""
        self._meter.tick()
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
        for child in node.named_children:
            stdin = self.run(child, scope.child(), stdin)
        return stdin

    def _substituted(self, node: Node, scope: Scope) -> list[str]:
        """Follow `$(...)` or `<(...)`; what goes into `>(...)` is anything."""
        self._meter.tick()
        inner = scope.child()
        said = self._children(node.named_children, inner, [UNKNOWN])
        if any(child.type == "file_redirect" for child in node.named_children):
            return [UNKNOWN]
        return said or [""]

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
        redirects = [one for one in node.named_children if one.type.endswith("_redirect")]
        extra: list[str] = []
        before, self._written = self._written, []
        for redirect in redirects:
            stdin, more = self._redirect(redirect, scope, stdin)
            extra += more
        if body is None:
            said: list[str] = []
        elif body.type == "command":
            said = self._command(body, scope, stdin, extra)
        else:
            said = self.run(body, scope, stdin)
        self.feed(self._written, said)
        self._written = before
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                said = self._after_heredoc(redirect, scope, said)
        return said

    def feed(self, paths: Sequence[str], texts: list[str]) -> None:
        """Follow the commands of `>(...)` with what is written to them."""
        for path in paths:
            fed = self._words.fed(plain(path))
            if fed is not None:
                self._children(fed[0].named_children, fed[1].child(), texts)

    def _after_heredoc(self, node: Node, scope: Scope, said: list[str]) -> list[str]:
        """Follow what stands on the line of a here-document behind it."""
        for child in node.named_children:
            if child.type == "pipeline":
                said = self._pipeline(child, scope, said)
            elif child.type in _STATEMENTS:
                self.run(child, scope, [UNKNOWN])
        return said

    def _redirect(self, node: Node, scope: Scope, stdin: list[str]) -> tuple[list[str], list[str]]:
        """Return what is read after a redirect, and words behind it that are arguments."""
        signs = {child.type for child in node.children if not child.is_named}
        if node.type == "herestring_redirect":
            words = [self._words.read(child, scope) for child in node.named_children]
            return [plain(_joined(text)) + "\n" for text in words[-1]] if words else stdin, []
        if node.type == "heredoc_redirect":
            return self._heredoc(node, scope, stdin)
        targets = [
            self._words.read(one, scope) for one in node.children_by_field_name("destination")
        ]
        extra = [part for values in targets[1:] for part in split_fields(values)]
        first = split_fields(targets[0]) if targets else []
        if signs & {"<", "<&"}:
            contents = [text for one in first for text in self._words.content(plain(one)) or []]
            return contents or [UNKNOWN], extra
        for target in first:
            self._judge_write(target, scope)
        self._written += first
        return stdin, extra

    def _heredoc(self, node: Node, scope: Scope, stdin: list[str]) -> tuple[list[str], list[str]]:
        start = next((one for one in node.children if one.type == "heredoc_start"), None)
        body = next((one for one in node.children if one.type == "heredoc_body"), None)
        extra = [
            part
            for child in node.children_by_field_name("argument")
            for part in split_fields(self._words.read(child, scope))
        ]
        for child in node.named_children:
            if child.type == "file_redirect":
                self._redirect(child, scope, stdin)
        if body is None:
            return [""], extra
        taken_as_it_is = start is not None and re.search(r"['\"\\]", text_of(start))
        texts = [text_of(body)] if taken_as_it_is else self._words.text(body, scope)
        return [plain(text) for text in texts], extra

    def _judge_write(self, target: str, scope: Scope) -> None:
        for rule in all_rules():
            judge = getattr(rule, "judge_write", None)
            found = judge(target, scope) if judge is not None else None
            if found is not None:
                raise Refused(found)

    def _command(
        self, node: Node, scope: Scope, stdin: list[str], extra: Sequence[str] = ()
    ) -> list[str]:
        """Read a command's words and follow what it may be."""
        inner, given = scope.child(), False
        for child in node.named_children:
            if child.type == "variable_assignment":
                inner.set(*self._assigned(child, scope))
                given = True
            elif child.type in {"herestring_redirect", "file_redirect", "heredoc_redirect"}:
                stdin, more = self._redirect(child, scope, stdin)
                extra = [*extra, *more]
        name = node.child_by_field_name("name")
        arguments = [
            part
            for child in node.children_by_field_name("argument")
            for part in split_fields(self._words.read(child, scope))
        ]
        said: list[str] = []
        for value in self._words.read(name, scope) if name is not None else []:
            # Variables that a builtin or function sets stay; those before the command do not.
            where = inner if given else scope
            argv = [part for part in split_fields([value]) if part]
            said += self._programs.call([*argv, *arguments, *extra], where, stdin)
        return capped(said)


# What runs by itself, among what stands in a condition or a loop.
_STATEMENTS = frozenset(
    """
    command pipeline list redirected_statement subshell compound_statement if_statement
    while_statement for_statement c_style_for_statement case_statement case_item do_group
    elif_clause else_clause variable_assignment variable_assignments declaration_command
    negated_command function_definition test_command unset_command ERROR
    """.split()  # noqa: SIM905 - a line of names
)


def _together(texts: Sequence[str]) -> list[str]:
    """Return what several commands may print: each of them alone, and all."""
    if any(DOWNLOADED in text for text in texts):
        return [DOWNLOADED]
    return capped([*texts, "".join(texts)]) if len(texts) > 1 else list(texts)


def _joined(value: str) -> str:
    return value.replace(SPLIT, " ")


def _is_array(node: Node | None) -> bool:
    return node is not None and node.type == "array"
