"""What adding a provider would change, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.config.values import Name, Url
from habakkuk.core.errors import ConfigurationError, Invalid
from habakkuk.ops.provider_save import save
from habakkuk.ops.provider_setup import (
    NewProvider,
    Plan,
    checked,
    fit_key,
    key_variable,
    make_plan,
    overruled,
)

MINE = NewProvider("mine", kind="openai", base_url="http://127.0.0.1:9100/v1", model="m")


def _settings(home: Path, config: str = "", env: str = "") -> Settings:
    (home / "config.yaml").write_text(config)
    (home / ".env").write_text(env)
    return load_settings()


def _answering(plan: Plan, agent: str = "habakkuk") -> str:
    return str(plan.selection.agents[agent].chain[0])


def test_the_key_of_a_known_service_is_all_it_needs(home: Path) -> None:
    plan = make_plan(_settings(home), NewProvider("groq", key="k-123"))
    assert plan.env_file == b"GROQ_API_KEY=k-123\n"
    assert plan.config_file is None
    assert _answering(plan) == "groq/openai/gpt-oss-120b"
    assert plan.endpoint.api_key == "k-123"


def test_beside_configured_providers_a_service_needs_an_entry(home: Path) -> None:
    settings = _settings(
        home,
        "providers: {xai: {}}\nagents: {habakkuk: {model: xai/grok-4.7}}\n",
        "XAI_API_KEY=x\n",
    )
    plan = make_plan(settings, NewProvider("groq", key="k-123"))
    assert plan.config_file is not None
    assert b"groq: {}" in plan.config_file
    assert _answering(plan) == "xai/grok-4.7"


def test_a_server_of_ones_own_gets_an_entry_a_variable_and_the_agent(home: Path) -> None:
    plan = make_plan(_settings(home), NewProvider(**{**vars(MINE), "key": "k-123"}))
    assert plan.env_file == b"MINE_API_KEY=k-123\n"
    assert (plan.endpoint.base_url, plan.endpoint.api_key_env) == (
        "http://127.0.0.1:9100/v1",
        "MINE_API_KEY",
    )
    assert _answering(plan) == "mine/m"


def test_a_server_without_a_key_names_no_variable(home: Path) -> None:
    plan = make_plan(_settings(home), MINE)
    assert plan.env_file is None
    assert plan.endpoint.api_key_env is None


def test_adding_changes_nobody_elses_model(home: Path) -> None:
    settings = _settings(home, "agents: {habakkuk: {}, other: {}}\n", "OPENAI_API_KEY=o\n")
    plan = make_plan(settings, MINE)
    assert _answering(plan) == _answering(plan, "other") == "openai/gpt-6-sol"


def test_the_main_agent_answers_with_it_when_that_is_wanted(home: Path) -> None:
    settings = _settings(home, "agents: {habakkuk: {}, other: {}}\n", "OPENAI_API_KEY=o\n")
    plan = make_plan(settings, NewProvider(**{**vars(MINE), "answers": True}))
    assert _answering(plan) == "mine/m"
    assert _answering(plan, "other") == "openai/gpt-6-sol"


def test_a_provider_that_an_agent_names_already_can_be_added(home: Path) -> None:
    settings = _settings(home, "agents: {habakkuk: {model: mine/m}}\n")
    assert _answering(make_plan(settings, MINE)) == "mine/m"


def test_another_key_of_a_configured_provider_changes_its_variable_alone(home: Path) -> None:
    config = (
        "providers: {mine: {type: openai, base_url: 'http://127.0.0.1:1/v1', api_key_env: K}}\n"
    )
    plan = make_plan(_settings(home, config, "K=old\nB=2\n"), NewProvider("mine", key="new"))
    assert plan.env_file == b"K=new\nB=2\n"
    assert plan.config_file is None


def test_a_service_without_any_key_is_refused(home: Path) -> None:
    with pytest.raises(ConfigurationError, match="GROQ_API_KEY"):
        make_plan(_settings(home), NewProvider("groq"))


@pytest.mark.parametrize(
    ("name", "variable"), [("my-box", "MY_BOX_API_KEY"), ("9router", "_9ROUTER_API_KEY")]
)
def test_a_variable_is_made_of_the_name(home: Path, name: str, variable: str) -> None:
    assert key_variable(_settings(home), NewProvider(name, kind="openai")) == variable


def test_a_pasted_key_loses_the_space_around_it() -> None:
    assert fit_key("  sk-123\r\n") == "sk-123"


@pytest.mark.parametrize("text", ["", " \n", "two words", "smart”quote", "a\x1b[200~b"])
def test_what_cannot_be_a_key_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        fit_key(text)
    assert text.strip() == "" or text not in str(refused.value)


def test_forms_of_the_config_are_checked_with_their_advice() -> None:
    assert checked(Name, " mine ") == "mine"
    with pytest.raises(Invalid, match="small letters"):
        checked(Name, "My Server")
    with pytest.raises(Invalid, match="write a URL"):
        checked(Url, "box:8000")


def test_an_environment_with_another_key_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "other")
    settings = _settings(home)
    assert overruled(settings, "GROQ_API_KEY", "mine")
    assert not overruled(settings, "GROQ_API_KEY", "other")
    assert not overruled(settings, "XAI_API_KEY", "mine")


def test_saving_closes_the_files_to_others(home: Path) -> None:
    settings = _settings(home)
    (home / ".env").chmod(0o644)
    save(make_plan(settings, NewProvider(**{**vars(MINE), "key": "k"})), home)
    for name in (".env", "config.yaml"):
        assert (home / name).stat().st_mode & 0o777 == 0o600
    assert load_settings().secret("MINE_API_KEY") == "k"


def test_when_the_config_cannot_be_written_the_key_is_not_either(home: Path) -> None:
    settings = _settings(home, env="A=1\n")
    plan = make_plan(settings, NewProvider(**{**vars(MINE), "key": "k"}))
    (home / "config.yaml").unlink()
    (home / "config.yaml").mkdir()
    with pytest.raises(ConfigurationError, match="nothing was changed"):
        save(plan, home)
    assert (home / ".env").read_bytes() == b"A=1\n"
    assert sorted(path.name for path in home.iterdir()) == [".env", "config.yaml", "logs"]
