"""What the doctor says of where commands run."""

from pathlib import Path

import pytest

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.ops.findings import Verdict
from habakkuk.ops.sandbox_checks import check_sandboxes


def _settings(home: Path, agents: str, **variables: str) -> Settings:
    (home / "config.yaml").write_text(f"agents:\n{agents}")
    base = {"HABAKKUK_HOME": str(home), "PATH": "/nowhere"} | variables
    return load_settings(read_environment(base))


def test_an_agent_without_a_sandbox_is_not_spoken_of(home: Path) -> None:
    assert list(check_sandboxes(_settings(home, "  a: {}\n"))) == []


def test_what_is_missing_is_named_with_what_to_install(home: Path) -> None:
    agents = "  a: {sandbox: docker}\n  b: {sandbox: ssh, ssh: {host: h.example, workdir: /w}}\n"
    docker, ssh = check_sandboxes(_settings(home, agents))
    assert (docker.name, docker.verdict) == ("sandbox of a", Verdict.FAIL)
    assert "install Docker" in docker.found
    assert "openssh-client" in ssh.found
    assert "refused until then" in ssh.advice


def test_a_key_that_is_missing_is_named(home: Path, tmp_path: Path) -> None:
    program = tmp_path / "ssh"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    agents = "  b: {sandbox: ssh, ssh: {host: h.example, workdir: /w, key_env: NO_KEY}}\n"
    (found,) = check_sandboxes(_settings(home, agents, PATH=str(tmp_path)))
    assert "NO_KEY is not set" in found.found


def test_a_key_in_the_environment_is_a_secret(home: Path) -> None:
    agents = "  b: {sandbox: ssh, ssh: {host: h.example, workdir: /w, key_env: THE_WAY_IN}}\n"
    settings = _settings(home, agents, THE_WAY_IN="opens everything")
    assert "opens everything" in settings.secrets


def test_a_secret_that_commands_of_another_agent_could_read_is_told(home: Path) -> None:
    secrets = "secrets:\n  s: {env: S, tools: [exec], agents: [b]}\n"
    (found,) = check_sandboxes(_settings(home, "  a: {}\n  b: {}\n" + secrets))
    assert (found.name, found.verdict) == ("secret s", Verdict.WARN)
    assert "commands of a run in no sandbox" in found.found


@pytest.mark.parametrize("secret", ["tools: [exec]", "tools: [fetch_url], agents: [b]"])
def test_a_secret_that_no_other_agent_could_read_is_not_spoken_of(home: Path, secret: str) -> None:
    agents = f"  a: {{}}\n  b: {{}}\nsecrets:\n  s: {{env: S, {secret}}}\n"
    assert list(check_sandboxes(_settings(home, agents))) == []
