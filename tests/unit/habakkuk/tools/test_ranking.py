"""Names count most, parts of names more than descriptions; what fits far worse is left out."""

from __future__ import annotations

import pytest

from habakkuk.llm.types import ToolSpec
from habakkuk.tools.found import callable_now, named_in
from habakkuk.tools.ranking import rank


def spec(name: str, description: str = "") -> ToolSpec:
    return ToolSpec(name, description, {})


TOOLS = (
    spec("mcp_github_create_issue", "Open an issue in a repository."),
    spec("mcp_github_list_issues", "List the issues of a repository."),
    spec("mcp_mail_send", "Send a letter about an issue."),
    spec("readCalendar", "Look at the days to come."),
    spec("天气_预报", "Wetter"),
)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("create issue", ["mcp_github_create_issue"]),
        ("github", ["mcp_github_create_issue", "mcp_github_list_issues"]),
        ("letter", ["mcp_mail_send"]),
        ("calendar", ["readCalendar"]),
        ("READ", ["readCalendar"]),
        ("天气", ["天气_预报"]),
        ("list_issues", ["mcp_github_list_issues"]),
        ("xylophone lessons", []),
        ("!!!", []),
    ],
)
def test_what_fits_comes_first(query: str, names: list[str]) -> None:
    assert [found.name for found in rank(TOOLS, query)] == names


def test_under_two_thirds_of_the_best_is_left_out() -> None:
    three = spec("one_two_three")
    two = spec("one_two_other")
    one = spec("one_other_thing")
    assert rank([one, two, three], "one two three") == [three, two]


def test_the_line_is_read_back_as_it_was_written() -> None:
    assert named_in(f"text\n{callable_now(['b', 'a'])}") == ["b", "a"]


@pytest.mark.parametrize(
    "text", ["", "[callable now: a]\nmore", "see [callable now: a]", "[callable now: a] ok"]
)
def test_only_a_last_line_of_its_own_counts(text: str) -> None:
    assert named_in(text) == []
