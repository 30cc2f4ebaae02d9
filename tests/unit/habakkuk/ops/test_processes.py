"""The process table."""

from pathlib import Path

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import load_settings
from habakkuk.ops.processes import local_model, standard_processes, worker


def option(command: tuple[str, ...], name: str) -> str:
    return command[command.index(name) + 1]


def test_up_runs_web_two_workers_beat_and_what_keeps_processes(home: Path) -> None:
    settings = load_settings(read_environment({"HABAKKUK_HOME": str(home)}))

    serving, later = standard_processes(settings)
    names = [spec.name for spec in (*serving, *later)]

    assert names == ["web", "worker-1", "worker-2", "processes", "beat"]


def test_up_listens_to_platforms_that_bring_nothing(home: Path) -> None:
    (home / "config.yaml").write_text("channels: {bot: {type: telegram, token_env: BOT_TOKEN}}")
    settings = load_settings(read_environment({"HABAKKUK_HOME": str(home)}))

    _, later = standard_processes(settings)

    assert [spec.name for spec in later] == ["beat", "channels"]


def test_a_worker_works_for_all_queues_unless_told_which() -> None:
    everything = worker("worker-1").command
    one = worker("turns-1", ("turns",)).command

    assert option(everything, "--name") == "worker-1"
    assert option(everything, "--queues") == "turns,subturns,deliveries,schedules,maintenance"
    assert option(one, "--queues") == "turns"


def test_web_opens_no_control_socket(home: Path) -> None:
    settings = load_settings(read_environment({"HABAKKUK_HOME": str(home)}))

    (web, *_), _ = standard_processes(settings)

    assert "--no-control-socket" in web.command
    assert Path(option(web.command, "-c")).is_file()


def test_the_local_model_is_told_its_port_and_file() -> None:
    command = local_model(18080, Path("/models/a.gguf")).command

    assert option(command, "--port") == "18080"
    assert option(command, "--model") == "/models/a.gguf"
