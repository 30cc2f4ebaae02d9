"""config.yaml changes as a person would change it."""

from __future__ import annotations

from habakkuk.core.config.load import parse_config
from habakkuk.ops.config_file import with_provider

ENTRY = {"type": "openai", "base_url": "http://127.0.0.1:9100/v1"}


def test_a_file_that_is_not_there_is_made() -> None:
    made = with_provider(b"", "mine", ENTRY, {"habakkuk": "mine/m"})
    config = parse_config(made, "config.yaml")
    assert config.providers["mine"].base_url == "http://127.0.0.1:9100/v1"
    assert config.agents["habakkuk"].model == "mine/m"


def test_comments_quotes_order_and_indents_stay() -> None:
    before = (
        "# ours\n"
        "timezone: 'Europe/Berlin'   # where we are\n"
        "agents:\n"
        "    habakkuk:\n"
        "        # careful\n"
        "        permissions: ask\n"
        "        fallbacks:\n"
        "          - groq/one\n"
        "providers:\n"
        "    groq: {}  # fast\n"
    )
    after = with_provider(before.encode(), "mine", ENTRY, {"habakkuk": "mine/m"}).decode()
    assert after == before.replace(
        "          - groq/one\n", "          - groq/one\n        model: mine/m\n"
    ) + ("    mine:\n        type: openai\n        base_url: http://127.0.0.1:9100/v1\n")


def test_a_file_of_comments_keeps_them() -> None:
    after = with_provider(b"# providers: {}\n# end", "groq", {}, {}).decode()
    assert after == "# providers: {}\n# end\nproviders:\n  groq: {}\n"


def test_an_empty_section_is_filled() -> None:
    after = with_provider(b"providers:\n  # none yet\nlogs: {level: info}\n", "groq", {}, {})
    assert set(parse_config(after, "config.yaml").providers) == {"groq"}
    assert b"# none yet" in after


def test_other_keys_of_an_entry_stay() -> None:
    before = b"providers:\n  mine: {type: openai, base_url: 'http://127.0.0.1:1/v1', timeout: 5s}\n"
    after = parse_config(with_provider(before, "mine", ENTRY, {}), "config.yaml")
    assert after.providers["mine"].timeout == 5.0
    assert after.providers["mine"].base_url == "http://127.0.0.1:9100/v1"


def test_an_agent_keeps_what_else_it_has() -> None:
    before = b"agents:\n  habakkuk: {permissions: ask, model: groq/x}\n  other: {}\n"
    after = parse_config(with_provider(before, "mine", ENTRY, {"habakkuk": "mine/m"}), "c")
    assert (after.agents["habakkuk"].model, after.agents["habakkuk"].permissions) == (
        "mine/m",
        "ask",
    )
    assert "other" in after.agents
