"""Which model answers: from the config, the keys in the environment, the local model, or nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.environment import Environment
from habakkuk.core.config.settings import load_settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.llm.contract import Dialect
from habakkuk.llm.profiles.presets import PRESETS
from habakkuk.llm.selection import Selection, Tier, select
from habakkuk.llm.types import ModelRef

LOCAL = {"HABAKKUK_LOCAL_MODEL_URL": "http://127.0.0.1:18080"}


def chosen(home: Path, config: str = "", **environment: str) -> Selection:
    (home / "config.yaml").write_text(config, encoding="utf-8")
    return select(load_settings(Environment(home=home, values=environment)))


def main_chain(selection: Selection) -> tuple[str, ...]:
    return tuple(str(ref) for ref in selection.chain("habakkuk"))


def test_without_config_the_first_preset_in_the_order_whose_key_is_set_answers(home: Path) -> None:
    selection = chosen(home, XAI_API_KEY="x", GROQ_API_KEY="g")
    assert main_chain(selection) == (f"groq/{PRESETS['groq'].default_model}",)


def test_the_banner_names_model_and_variable(home: Path) -> None:
    line = chosen(home, OPENAI_API_KEY="sk-1234").agents["habakkuk"].line
    assert (
        line == f"habakkuk answers with openai/{PRESETS['openai'].default_model} (OPENAI_API_KEY)"
    )


def test_an_agent_without_a_model_chooses_by_itself(home: Path) -> None:
    selection = chosen(home, "agents: {habakkuk: {}}", MISTRAL_API_KEY="m")
    assert main_chain(selection) == (f"mistral/{PRESETS['mistral'].default_model}",)


def test_an_empty_variable_is_no_key(home: Path) -> None:
    selection = chosen(home, OPENAI_API_KEY="", GEMINI_API_KEY="g")
    assert selection.chain("habakkuk")[0].provider == "gemini"


def test_without_any_key_the_local_model_answers(home: Path) -> None:
    selection = chosen(home, **LOCAL)
    assert main_chain(selection) == ("local/smollm2-135m-instruct",)
    assert selection.endpoints["local"].base_url == "http://127.0.0.1:18080/v1"
    assert selection.endpoints["local"].api_key == ""


def test_the_banner_of_the_local_model_says_that_it_is_a_toy(home: Path) -> None:
    models = chosen(home, **LOCAL).agents["habakkuk"]
    assert models.tier is Tier.TOY
    assert "toy" in models.line
    assert "OPENAI_API_KEY" in models.line


def test_another_local_model_can_be_named(home: Path) -> None:
    selection = chosen(home, **LOCAL, HABAKKUK_LOCAL_MODEL_NAME="big-one")
    assert main_chain(selection) == ("local/big-one",)
    assert selection.agents["habakkuk"].tier is Tier.FULL


def test_a_key_goes_before_the_local_model(home: Path) -> None:
    assert chosen(home, **LOCAL, OPENAI_API_KEY="k").chain("habakkuk")[0].provider == "openai"


def test_with_nothing_at_all_it_says_what_to_set(home: Path) -> None:
    selection = chosen(home)
    models = selection.agents["habakkuk"]
    assert models.chain == ()
    assert models.tier is Tier.NONE
    assert "OPENAI_API_KEY" in (models.problem or "")
    assert "config.yaml" in (models.problem or "")


MINE = """
providers:
  mine: {type: openai, base_url: "http://127.0.0.1:9100/v1", api_key_env: MY_KEY}
agents:
  habakkuk: {model: mine/some-model, fallbacks: [groq/x/y]}
"""


def test_a_configured_provider_gives_its_endpoint(home: Path) -> None:
    selection = chosen(home, MINE, MY_KEY="secret", GROQ_API_KEY="g")
    endpoint = selection.endpoints["mine"]
    assert endpoint.base_url == "http://127.0.0.1:9100/v1"
    assert (endpoint.api_key, endpoint.api_key_env) == ("secret", "MY_KEY")
    assert selection.problems == ()


def test_the_chain_is_the_model_and_its_fallbacks(home: Path) -> None:
    selection = chosen(home, MINE, MY_KEY="secret", GROQ_API_KEY="g")
    assert selection.chain("habakkuk") == (ModelRef("mine", "some-model"), ModelRef("groq", "x/y"))


def test_an_unset_key_is_a_problem_that_names_it(home: Path) -> None:
    selection = chosen(home, MINE, GROQ_API_KEY="g")
    assert main_chain(selection)[0] == "mine/some-model"
    assert len(selection.problems) == 1
    assert "mine: MY_KEY is not set" in selection.problems[0]
    assert "MY_KEY, which is not set" in selection.agents["habakkuk"].line


def test_a_key_loses_the_line_end_that_copying_brings(home: Path) -> None:
    assert chosen(home, MINE, MY_KEY=" secret\n").endpoints["mine"].api_key == "secret"


def test_no_key_stands_in_a_repr(home: Path) -> None:
    assert "secret" not in repr(chosen(home, MINE, MY_KEY="secret"))


def test_a_provider_named_like_a_preset_takes_it(home: Path) -> None:
    config = "providers: {groq: {}}\nagents: {habakkuk: {model: groq/m}}"
    endpoint = chosen(home, config, GROQ_API_KEY="g").endpoints["groq"]
    assert endpoint.base_url == PRESETS["groq"].base_url
    assert endpoint.api_key == "g"


def test_a_preset_can_go_by_another_name_and_be_changed(home: Path) -> None:
    config = """
providers:
  box: {preset: ollama, base_url: "http://10.0.0.5:11434/v1", stall_timeout: 5m}
agents:
  habakkuk: {model: box/m}
"""
    endpoint = chosen(home, config).endpoints["box"]
    assert endpoint.base_url == "http://10.0.0.5:11434/v1"
    assert endpoint.stall_timeout == 300.0
    assert endpoint.api_key_env is None


@pytest.mark.parametrize(
    "entry",
    [
        "{preset: openai-chat}",
        "{type: openai, base_url: 'https://api.openai.com/v1/'}",
        "{preset: openai, type: openai}",
    ],
)
def test_a_service_is_spoken_to_in_its_dialect_however_it_is_named(home: Path, entry: str) -> None:
    endpoint = chosen(home, f"providers: {{mine: {entry}}}").endpoints["mine"]
    assert endpoint.dialect == PRESETS["openai-chat"].dialect


def test_a_server_of_one_s_own_has_no_dialect(home: Path) -> None:
    config = "providers: {mine: {type: openai, base_url: 'http://127.0.0.1:9100/v1'}}"
    assert chosen(home, config).endpoints["mine"].dialect == Dialect()


def test_a_known_service_needs_no_entry(home: Path) -> None:
    selection = chosen(home, "agents: {habakkuk: {model: deepseek/m}}", DEEPSEEK_API_KEY="d")
    assert selection.endpoints["deepseek"].api_key == "d"


def test_a_configured_provider_with_a_default_model_goes_before_other_keys(home: Path) -> None:
    selection = chosen(home, "providers: {xai: {}}", XAI_API_KEY="x", OPENAI_API_KEY="o")
    assert main_chain(selection) == (f"xai/{PRESETS['xai'].default_model}",)


def test_a_configured_provider_without_a_default_model_asks_for_one(home: Path) -> None:
    config = "providers: {mine: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}"
    selection = chosen(home, config, OPENAI_API_KEY="o")
    assert selection.problems == ("agents.habakkuk.model: name a model, such as mine/MODEL",)


def test_a_configured_preset_without_its_key_names_the_key(home: Path) -> None:
    (problem,) = chosen(home, "providers: {xai: {}}").problems
    assert problem.startswith("xai: XAI_API_KEY is not set")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            "agents: {habakkuk: {model: opnai/m}}",
            r"agents\.habakkuk\.model: .*did you mean 'openai'",
        ),
        ("agents: {habakkuk: {fallbacks: [what/m]}}", r"agents\.habakkuk\.fallbacks\.0: 'what'"),
        ("providers: {x: {preset: olama}}", r"providers\.x\.preset: .*did you mean 'ollama'"),
        ("providers: {grok: {}}", r"providers\.grok: 'grok' is no known service"),
        ("providers: {x: {type: opena, base_url: 'http://h/v1'}}", r"did you mean 'openai'"),
        ("providers: {x: {type: openai}}", r"providers\.x\.base_url"),
        ("providers: {x: {type: openai, base_url: 'http://h:p/v1'}}", r"providers\.x\.base_url"),
        ("providers: {x: {type: openai, base_url: 'http:///v1'}}", r"providers\.x\.base_url"),
        ("providers: {groq: {headers: {X-A: 'ä'}}}", r"providers\.groq\.headers\.X-A"),
        ("providers: {groq: {headers: {X A: b}}}", r"providers\.groq\.headers\.X A"),
        ("agents: {habakkuk: {model: local/m}}", "HABAKKUK_LOCAL_MODEL_URL"),
    ],
)
def test_what_is_unknown_is_named_with_what_would_be_right(
    home: Path, config: str, says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        chosen(home, config)


def test_a_person_can_name_a_usable_model(home: Path) -> None:
    selection = chosen(home, GROQ_API_KEY="g")
    assert selection.resolve("groq/a/b") == ModelRef("groq", "a/b")


@pytest.mark.parametrize(
    ("text", "says"), [("xai/m", "XAI_API_KEY is not set"), ("m", "provider/model")]
)
def test_a_model_that_cannot_be_used_is_refused_with_the_reason(
    home: Path, text: str, says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        chosen(home, GROQ_API_KEY="g").resolve(text)


@pytest.mark.parametrize("url", ["http:///v1", "http://h:p", "http://[bad", "http://h:0"])
def test_an_impossible_local_address_is_named(home: Path, url: str) -> None:
    with pytest.raises(ConfigurationError, match="HABAKKUK_LOCAL_MODEL_URL"):
        chosen(home, HABAKKUK_LOCAL_MODEL_URL=url)


def test_the_documentation_shows_the_table_as_it_is() -> None:
    page = Path(__file__).parents[4].joinpath("docs", "providers.md").read_text(encoding="utf-8")
    rows = {
        line.split("`")[1]: line
        for line in page.splitlines()
        if line.startswith("| `") and "|" in line
    }
    for preset in PRESETS.values():
        assert (preset.api_key_env or "none") in rows[preset.name]
        assert (preset.default_model or preset.base_url) in rows[preset.name]
