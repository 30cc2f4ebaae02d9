"""What a person may write to choose a model or a level of effort."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.environment import Environment
from habakkuk.core.config.settings import load_settings
from habakkuk.core.errors import Invalid
from habakkuk.llm.choice import (
    at_hand,
    choose_effort,
    choose_model,
    effort_note,
    model_note,
    with_choice,
)
from habakkuk.llm.selection import Selection, select
from habakkuk.llm.types import ModelRef

CONFIG = """
providers:
  mine: {type: openai, base_url: "http://127.0.0.1:1/v1"}
  paid: {type: openai, base_url: "http://127.0.0.1:1/v1", api_key_env: PAID_KEY}
agents:
  habakkuk: {model: mine/big, fallbacks: [mine/small]}
"""


@pytest.fixture
def selection(home: Path) -> Selection:
    (home / "config.yaml").write_text(CONFIG, encoding="utf-8")
    return select(load_settings(Environment(home=home, values={"GROQ_API_KEY": "g"})))


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("mine/big", "mine/big"),
        (" mine/anything/at-all ", "mine/anything/at-all"),
        ("groq/llama-x", "groq/llama-x"),
        ("groq", "groq/openai/gpt-oss-120b"),
        ("openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
        ("small", "mine/small"),
    ],
)
def test_a_model_is_chosen_by_its_whole_name_or_by_what_is_at_hand(
    selection: Selection, text: str, model: str
) -> None:
    assert str(choose_model(selection, text)) == model


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gorq/x", "did you mean"),
        ("smal", "did you mean mine/small"),
        ("mine", "no model 'mine'"),
        ("paid/x", "PAID_KEY is not set"),
        ("xai/grok-4.7", "XAI_API_KEY is not set"),
        ("nothing-like-it", "write provider/model, such as mine/big"),
        ("", "name a model"),
        ("a/b\x00", "name a model"),
        ("a/" + "b" * 400, "name a model"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_helps(
    selection: Selection, text: str, says: str
) -> None:
    with pytest.raises(Invalid, match=says):
        choose_model(selection, text)


def test_those_at_hand_have_their_key(selection: Selection) -> None:
    assert [str(ref) for ref in at_hand(selection)] == [
        "mine/big",
        "mine/small",
        "groq/openai/gpt-oss-120b",
    ]


def test_a_level_is_one_of_those_that_are_named(selection: Selection) -> None:
    assert choose_effort(" High ") == "high"
    with pytest.raises(Invalid, match="none, minimal, low, medium, high, xhigh and max"):
        choose_effort("extreme")


def test_a_model_that_takes_other_levels_says_which_it_gets() -> None:
    note = effort_note("max", ModelRef("openai", "gpt-5"))
    assert note == "openai/gpt-5 takes minimal, low, medium and high; it is asked for high"


def test_a_model_without_levels_says_so_and_a_fitting_one_nothing() -> None:
    assert "takes no levels" in (effort_note("low", ModelRef("p", "homegrown")) or "")
    assert effort_note("low", ModelRef("openai", "gpt-5")) is None


def test_an_unknown_model_is_named_as_one() -> None:
    assert "nothing is known" in (model_note(ModelRef("p", "homegrown")) or "")
    assert model_note(ModelRef("p", "gpt-oss-120b")) is None


def test_a_choice_comes_before_the_agent_s_own_models(selection: Selection) -> None:
    chain = selection.chain("habakkuk")
    with_it, note = with_choice(selection, chain, "mine/small")
    assert [str(ref) for ref in with_it] == ["mine/small", "mine/big"]
    assert note is None
    assert with_choice(selection, chain, None) == (chain, None)


def test_a_choice_that_is_gone_is_passed_over_and_said(selection: Selection) -> None:
    chain = selection.chain("habakkuk")
    kept, note = with_choice(selection, chain, "gone/model")
    assert kept == chain
    assert "passed over" in (note or "")
