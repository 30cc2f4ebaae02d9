"""Broken configuration: each error names the file, the line, the key and what would be right."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

from habakkuk.core.config.load import load_config, parse_config
from habakkuk.core.config.schema import Config, PermissionMode
from habakkuk.core.errors import ConfigurationError

MINIMAL = """
providers:
  mine: {type: openai, base_url: "http://127.0.0.1:9100/v1", api_key_env: MY_KEY}
agents:
  habakkuk: {model: mine/some-model, fallbacks: [], permissions: workspace, toolsets: [core]}
"""


def parse(text: str) -> Config:
    return parse_config(text.encode(), "config.yaml")


def fault(text: str | bytes) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse_config(text if isinstance(text, bytes) else text.encode(), "config.yaml")
    return str(caught.value)


def test_the_documented_minimal_file_is_read() -> None:
    config = parse(MINIMAL)
    assert config.agents["habakkuk"].model == "mine/some-model"
    assert config.agents["habakkuk"].permissions is PermissionMode.WORKSPACE
    assert config.providers["mine"].base_url == "http://127.0.0.1:9100/v1"
    assert config.providers["mine"].key_variables == ("MY_KEY",)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_file_gives_the_defaults(text: str) -> None:
    assert parse(text) == Config()


def test_a_missing_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load_config(tmp_path / "config.yaml") == Config()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(ConfigurationError, match=r"config\.yaml: cannot be read: Is a directory"):
        load_config(tmp_path / "config.yaml")


def test_a_byte_order_mark_and_windows_line_ends_are_taken() -> None:
    raw = b"\xef\xbb\xbftimezone: Europe/Berlin\r\ntrusted_proxies: 1\r\n"
    config = parse_config(raw, "config.yaml")
    assert (config.timezone, config.trusted_proxies) == ("Europe/Berlin", 1)


def test_text_forms_of_yaml_are_text() -> None:
    config = parse("agents:\n  habakkuk:\n    prompt: |\n      Be brief.\n    model: 'a/b'\n")
    assert config.agents["habakkuk"].prompt == "Be brief.\n"
    assert config.agents["habakkuk"].model == "a/b"


def test_anchors_are_copied() -> None:
    config = parse("agents:\n  one: &base {model: a/b}\n  two: *base\n")
    assert config.agents["two"].model == "a/b"


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("agnets: {}", "agents"),
        ("agents:\n  habakkuk: {modle: a/b}", "model"),
        ("agents:\n  habakkuk: {max_step: 3}", "max_steps"),
        ("providers:\n  mine: {base-url: 'http://x/v1'}", "base_url"),
        ("workers: {turn: 3}", "turns"),
        ("logs: {levle: info}", "level"),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(written: str, near: str) -> None:
    assert f"unknown key; did you mean {near!r}?" in fault(written)


def test_an_unknown_key_near_nothing_lists_the_known_ones() -> None:
    assert fault("logs: {zzzz: 1}") == "config.yaml:1: logs.zzzz: unknown key; known keys: level"


def test_an_error_names_line_and_key() -> None:
    text = "timezone: UTC\nagents:\n  habakkuk:\n    model: a/b\n    max_steps: many\n"
    assert fault(text).startswith("config.yaml:5: agents.habakkuk.max_steps: ")
    assert fault(text).endswith("(found 'many')")


def test_an_error_in_a_list_names_its_line() -> None:
    text = "agents:\n  habakkuk:\n    fallbacks:\n      - a/b\n      - gpt\n"
    assert fault(text).startswith("config.yaml:5: agents.habakkuk.fallbacks.1: ")


def test_every_fault_is_told_at_once() -> None:
    lines = fault("agnets: {}\ntrusted_proxies: 99\nlogs: {level: loud}\n").splitlines()
    assert sorted(": ".join(line.split(": ")[:2]) for line in lines) == [
        "config.yaml:1: agnets",
        "config.yaml:2: trusted_proxies",
        "config.yaml:3: logs.level",
    ]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("agents: {habakkuk: {model: gpt-5}}", "write provider/model, such as"),
        ("agents: {habakkuk: {fallbacks: [gpt-5]}}", "write provider/model, such as"),
        ("providers: {mine: {base_url: localhost:9100}}", "write a URL, such as"),
        ("public_url: chat.example.org", "write a URL without a path, such as"),
        ("public_url: https://chat.example.org/habakkuk", "write a URL without a path, such as"),
        ("agents: {'My Agent': {}}", "write a name of at most 64 small letters"),
        ("agents: {habakkuk: {toolsets: [Core]}}", "write a name of at most 64 small letters"),
        ("gateway: {burst_window: 5}", 'a number with a unit, such as "30s"'),
        ("agents: {habakkuk: {permissions: root}}", "'read-only', 'ask', 'workspace' or 'full'"),
        ("logs: {level: loud}", "'debug', 'info', 'warning' or 'error'"),
    ],
)
def test_a_wrong_form_says_what_would_be_right(text: str, advice: str) -> None:
    message = fault(text)
    assert advice in message
    assert "pattern" not in message


@pytest.mark.parametrize(
    "text",
    [
        "agents: {habakkuk: {max_steps: '8'}}",
        "agents: {habakkuk: {max_steps: 8.0}}",
        "agents: {habakkuk: {max_steps: true}}",
        "agents: {habakkuk: {max_steps: 0}}",
        "agents: {habakkuk: [model, a/b]}",
        "agents: 5",
        "trusted_proxies: yes",
        "timezone: 5",
        "providers: {mine: {headers: {x-number: 5}}}",
    ],
)
def test_a_wrong_type_is_refused(text: str) -> None:
    assert fault(text).startswith("config.yaml:1: ")


def test_a_secret_in_the_place_of_its_name_is_not_repeated() -> None:
    message = fault("providers: {mine: {api_key_env: sk-secret-canary-123456}}")
    assert "write the name of the variable" in message
    assert "canary" not in message


def test_a_secret_in_a_header_is_not_repeated() -> None:
    assert "canary" not in fault("providers: {mine: {headers: {x-key: [canary-123456]}}}")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("30s", 30.0), ("5m", 300.0), ("2h", 7200.0), ("1d", 86400.0), ("500ms", 0.5), ("1.5s", 1.5)],
)
def test_durations(written: str, seconds: float) -> None:
    config = parse(f"agents: {{habakkuk: {{turn_timeout: {written}}}}}")
    assert config.agents["habakkuk"].turn_timeout == pytest.approx(seconds)


@pytest.mark.parametrize("written", ["30", "s", "-5s", "5 weeks", "[1s]", "1e3s", "''"])
def test_what_is_no_duration(written: str) -> None:
    assert "write a duration" in fault(f"gateway: {{burst_window: {written}}}")


@pytest.mark.parametrize("written", ["0s", "31d", "100000000h"])
def test_a_time_limit_within_which_nothing_or_everything_fits(written: str) -> None:
    assert "write" in fault(f"agents: {{habakkuk: {{turn_timeout: {written}}}}}")
    assert "write" in fault(f"providers: {{mine: {{first_byte_timeout: {written}}}}}")


def test_a_burst_may_be_no_time_at_all() -> None:
    assert parse("gateway: {burst_window: 0s}").gateway.burst_window == 0


@pytest.mark.parametrize(
    ("written", "size"), [("500MB", 5 * 10**8), ("1.5 GB", 15 * 10**8), ("64kB", 64_000)]
)
def test_sizes(written: str, size: int) -> None:
    assert parse(f"commands: {{memory: {written}}}").commands.memory == size


def test_a_limit_can_be_taken_away() -> None:
    found = parse("commands: {memory: null, processes: null, file_size: null}").commands
    assert (found.memory, found.processes, found.file_size) == (None, None, None)


@pytest.mark.parametrize("written", ["500", "MB", "-5MB", "5 miles", "[1GB]", "1e3kB", "''"])
def test_what_is_no_size(written: str) -> None:
    assert "write a size" in fault(f"commands: {{memory: {written}}}")


def test_a_doubled_key_is_an_error_with_its_line() -> None:
    message = fault("timezone: UTC\nagents: {}\ntimezone: Europe/Berlin\n")
    assert message.startswith("config.yaml:3: ")
    assert "duplicate key" in message
    assert "timezone" in message


@pytest.mark.parametrize(
    ("text", "line"), [("agents: {habakkuk: [\n", 2), ("a: b: c\n", 1), ("agents:\n\t- x\n", 2)]
)
def test_broken_yaml_names_its_line(text: str, line: int) -> None:
    assert fault(text).startswith(f"config.yaml:{line}: ")


def test_the_file_must_be_a_mapping() -> None:
    assert "must be a mapping" in fault("- a\n- b\n")


def test_bytes_that_are_no_utf8_name_their_line() -> None:
    assert fault(b"timezone: UTC\nlogs: \xff\n") == (
        "config.yaml:2: not valid UTF-8; save the file as UTF-8"
    )


def test_an_oversized_file_is_refused() -> None:
    assert fault("#" * (256 * 1024 + 1)) == "config.yaml: larger than 256 KB"


@pytest.mark.parametrize("text", ["&a [*a]", "[" * 600, "a: !!python/object:os.system x"])
def test_hostile_yaml_is_an_error_and_no_crash(text: str) -> None:
    assert fault(text).startswith("config.yaml:")


def test_a_config_without_agents_is_refused() -> None:
    assert fault("agents: {}") == "config.yaml:1: agents: name at least one agent"


def test_the_default_agent_must_be_there() -> None:
    text = "agents: {one: {}, two: {}}\ndefault_agent: three\n"
    assert fault(text) == (
        "config.yaml:2: default_agent: 'three' is not among the agents (one, two)"
    )


def test_a_secret_is_for_agents_that_are_there() -> None:
    text = (
        "agents: {builder: {}, writer: {}}\n"
        "secrets:\n"
        "  forge:\n"
        "    {env: FORGE, tools: [exec],\n"
        "     agents: [writer,\n"
        "       bilder]}\n"
        "  other: {env: OTHER, tools: [exec], agents: [somebody]}\n"
    )
    assert fault(text).splitlines() == [
        "config.yaml:6: secrets.forge.agents.1: there is no agent 'bilder'; did you mean"
        " 'builder'?",
        "config.yaml:7: secrets.other.agents.0: there is no agent 'somebody'; the agents are:"
        " builder, writer",
    ]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "''"])
def test_an_unknown_time_zone_is_refused(zone: str) -> None:
    assert "is no zone name such as Europe/Berlin" in fault(f"timezone: {zone}")


@pytest.mark.parametrize(
    ("text", "main"),
    [
        ("", "habakkuk"),
        ("agents: {one: {}, habakkuk: {}}", "habakkuk"),
        ("agents: {one: {}, two: {}}", "one"),
        ("agents: {one: {}, two: {}}\ndefault_agent: two", "two"),
    ],
)
def test_the_agent_for_whoever_names_none(text: str, main: str) -> None:
    assert parse(text).main_agent == main


def test_money_is_read_as_it_is_written() -> None:
    config = parse(
        "budgets: {day: 20, users: {member: 0.1, Alice B.: 5}, agents: {habakkuk: 10.50}}\n"
        "pricing:\n"
        "  mine/*: {input: 0.1, output: 2, long: {above: 200000, input: 0.2, output: 4}}\n"
    )
    assert config.budgets.day == Decimal(20)
    assert config.budgets.users == {"member": Decimal("0.1"), "Alice B.": Decimal(5)}
    assert config.budgets.agents == {"habakkuk": Decimal("10.5")}
    long = config.pricing["mine/*"].long
    assert long is not None
    assert (long.above, long.input) == (200_000, Decimal("0.2"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("budgets: {day: -1}", "budgets.day: write an amount in US dollars"),
        ("budgets: {day: .nan}", "budgets.day: write an amount in US dollars"),
        ("budgets: {day: .inf}", "budgets.day: write an amount in US dollars"),
        ("budgets: {day: yes}", "budgets.day: write an amount in US dollars"),
        ("budgets: {day: 2 USD}", "budgets.day: write an amount in US dollars"),
        ("budgets: {week: 1}", "did you mean|known keys: agents, day, unpriced, users"),
        ("budgets: {agents: {nobody: 1}}", "budgets.agents.nobody: there is no agent 'nobody'"),
        ("pricing: {m: {input: 1}}", "pricing.m.output: field required"),
        ("pricing: {a b: {input: 1, output: 1}}", "write how the names of models begin"),
        ("pricing: {m: {input: 1, output: 1, cached: 1}}", "pricing.m.cached: unknown key"),
        (
            "pricing: {m: {input: 1, output: 1, long: {input: 1, output: 1}}}",
            "pricing.m.long.above: field required",
        ),
    ],
)
def test_what_is_no_money_is_named(text: str, words: str) -> None:
    assert re.search(words, fault(text))


@pytest.mark.parametrize(
    ("written", "meant"), [("on", True), ("off", False), ("true", True), ("false", False)]
)
def test_a_switch_is_on_or_off(written: str, meant: bool) -> None:
    config = parse(f"channels: {{phone: {{type: webhook, progress: {written}}}}}")
    assert config.channels["phone"].progress is meant


@pytest.mark.parametrize("written", ["1", "0", "maybe", "null"])
def test_what_is_no_switch_says_what_is(written: str) -> None:
    assert "write on or off" in fault(
        f"channels: {{phone: {{type: webhook, reactions: {written}}}}}"
    )
