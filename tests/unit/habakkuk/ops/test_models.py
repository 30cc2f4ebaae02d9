"""When the bundled model is needed, and how the other processes hear of a local one."""

from pathlib import Path

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.llm.selection import Tier, select
from habakkuk.ops.models import LocalModel, needs_bundled, with_local


def settings_for(home: Path, config: str = "", **variables: str) -> Settings:
    (home / "config.yaml").write_text(config)
    return load_settings(read_environment({"HABAKKUK_HOME": str(home), **variables}))


def test_it_is_needed_with_no_provider_and_no_key(home: Path) -> None:
    assert needs_bundled(settings_for(home))


def test_a_key_makes_it_needless(home: Path) -> None:
    assert not needs_bundled(settings_for(home, OPENAI_API_KEY="k"))


def test_a_configured_provider_makes_it_needless(home: Path) -> None:
    assert not needs_bundled(settings_for(home, "providers: {ollama: {}}\n"))


def test_an_agent_that_names_it_needs_it(home: Path) -> None:
    config = "agents: {habakkuk: {model: local/smollm2-135m-instruct}}\n"

    assert needs_bundled(settings_for(home, config, OPENAI_API_KEY="k"))


def test_a_local_model_of_ones_own_makes_it_needless(home: Path) -> None:
    assert not needs_bundled(
        settings_for(home, HABAKKUK_LOCAL_MODEL_URL="http://127.0.0.1:18080/v1")
    )


def test_the_bundled_model_answers_as_a_toy(home: Path) -> None:
    settings = with_local(settings_for(home), LocalModel(Path("a.gguf"), 18080))

    models = select(settings).agents["habakkuk"]

    assert models.tier is Tier.TOY
    assert select(settings).endpoints["local"].base_url == "http://127.0.0.1:18080/v1"


def test_a_chosen_file_answers_under_its_own_name(home: Path) -> None:
    settings = with_local(settings_for(home), LocalModel(Path("q.gguf"), 18080, "qwen"))

    assert [str(ref) for ref in select(settings).agents["habakkuk"].chain] == ["local/qwen"]
