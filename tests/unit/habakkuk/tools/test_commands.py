"""Commands behind the shim: what they give, and that nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from habakkuk.core.agent_user import AgentUser
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.commands import Commands, Ended, Order
from habakkuk.tools.reach import closed_to, readable_by_others
from habakkuk.tools.workspace import prepare_workspace
from tests.fakes.toolbox import PLAIN

ROOT = Path(__file__).parents[4]
WAIT_SECONDS = 20.0


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "agents" / "habakkuk" / "workspace"
    prepare_workspace(folder)
    return folder


def run(
    script: str, workspace: Path, seconds: float = 30, interrupt: Interrupt | None = None
) -> Ended:
    commands = Commands(PLAIN, workspace.parents[2])
    return commands.run(Order(script, workspace, seconds), workspace, interrupt or Interrupt())


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def pid_in(path: Path) -> int:
    until(lambda: path.exists() and path.read_text().strip() != "")
    return int(path.read_text())


def test_output_errors_and_exit_code_come_apart(workspace: Path) -> None:
    ended = run("echo out; echo err >&2; exit 3", workspace)
    assert (ended.output.text(), ended.errors.text()) == ("out\n", "err\n")
    assert (ended.code, ended.timed_out) == (3, False)


def test_both_pipes_are_drained_at_once(workspace: Path) -> None:
    """Each is filled far beyond what a pipe holds, one after the other."""
    script = "head -c 700000 /dev/zero | tr '\\0' e >&2; head -c 700000 /dev/zero | tr '\\0' o"
    ended = run(script, workspace)
    assert (len(ended.output.text()), len(ended.errors.text())) == (700_000, 700_000)


def test_of_an_endless_output_head_and_tail_stay(workspace: Path) -> None:
    ended = run("echo first; yes | head -c 5000000; echo last", workspace)
    text = ended.output.text()
    assert text.startswith("first\ny\n")
    assert text.endswith("y\nlast\n")
    assert len(text) < 2_200_000
    assert ended.output.dropped > 2_000_000


def test_bytes_that_are_no_utf8_become_replacement_characters(workspace: Path) -> None:
    assert run(r"printf 'a\xff\xfeb\xc3'", workspace).output.text() == "a\ufffd\ufffdb\ufffd"


def test_standard_input_is_empty(workspace: Path) -> None:
    assert run("cat; echo end", workspace).output.text() == "end\n"


def test_streams_can_be_opened_by_their_names(workspace: Path) -> None:
    ended = run("echo out > /dev/stdout; echo err > /dev/stderr", workspace)
    assert (ended.output.text(), ended.errors.text()) == ("out\n", "err\n")


def test_what_it_writes_is_closed_to_others(workspace: Path) -> None:
    run("echo x > made; mkdir folder", workspace)
    assert (workspace / "made").stat().st_mode & 0o777 == 0o600
    assert (workspace / "folder").stat().st_mode & 0o777 == 0o700


def test_it_starts_where_it_is_told(workspace: Path) -> None:
    (workspace / "below").mkdir(mode=0o755)
    commands = Commands(PLAIN, workspace.parents[2])
    ended = commands.run(Order("pwd", workspace / "below", 30), workspace, Interrupt())
    assert ended.output.text() == f"{workspace}/below\n"


def test_it_leads_a_session_without_a_terminal(workspace: Path) -> None:
    ended = run("ps -o sid= -p $$ | tr -d ' '; echo $$; cat < /dev/tty", workspace)
    session, pid = ended.output.text().split()
    assert session == pid
    assert "No such device" in ended.errors.text()


def test_it_goes_after_a_worker_that_steps_back(workspace: Path) -> None:
    script = "(nice; cat /proc/self/autogroup) > told 2>/dev/null"
    back = f"import os; os.setpriority(os.PRIO_PROCESS, 0, 10)\n{_WORKER}"
    subprocess.run([sys.executable, "-c", back, str(workspace), script], cwd=ROOT, check=True)
    niceness, *session = (workspace / "told").read_text().splitlines()
    assert niceness == "15"
    # sched(7): "/autogroup-25 nice 15", where the kernel has it.
    assert not session or session[0].endswith("nice 15")


def test_where_nobody_steps_back_it_does_not(workspace: Path) -> None:
    # Not above 0 where the tests themselves step back.
    own = os.getpriority(os.PRIO_PROCESS, 0)
    expected = 0 if own == 0 else own + 5
    assert run("nice", workspace).output.text() == f"{expected}\n"


def test_descriptors_of_the_worker_are_not_inherited(workspace: Path) -> None:
    kept = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(kept, True)
    try:
        listed = run("ls /proc/self/fd", workspace).output.text().split()
    finally:
        os.close(kept)
    # 3 is the listing's own.
    assert listed == ["0", "1", "2", "3"]


def test_a_broken_pipe_ends_a_program_as_it_does_in_a_shell(workspace: Path) -> None:
    ended = run("set -o pipefail; yes | head -n 1", workspace)
    assert ended.code == 128 + signal.SIGPIPE


def test_the_time_it_is_given_ends_it(workspace: Path) -> None:
    ended = run("echo begun; sleep 60", workspace, seconds=0.5)
    assert ended.timed_out
    assert ended.code == -signal.SIGTERM
    assert ended.output.text() == "begun\n"


def test_it_may_clean_up_when_its_time_is_over(workspace: Path) -> None:
    ended = run("trap 'echo cleaned; exit 5' TERM; sleep 60 & wait", workspace, seconds=0.5)
    assert (ended.timed_out, ended.code, ended.output.text()) == (True, 5, "cleaned\n")


def test_one_that_ignores_the_signal_is_killed(workspace: Path) -> None:
    ended = run("trap '' TERM; while true; do sleep 0.1; done", workspace, seconds=0.3)
    assert (ended.timed_out, ended.code) == (True, -signal.SIGKILL)


@pytest.mark.parametrize(
    "start",
    [
        "sleep 300 & echo $! > pid",
        "setsid sleep 300 & echo $! > pid",
        "nohup sleep 300 > /dev/null 2>&1 & echo $! > pid; disown",
        "(setsid sh -c 'echo $$ > pid; exec sleep 300' &)",
    ],
)
def test_nothing_that_it_started_stays(start: str, workspace: Path) -> None:
    ended = run(f"{start}; until [ -s pid ]; do :; done; echo done", workspace)
    assert (ended.code, ended.output.text()) == (0, "done\n")
    assert gone(int((workspace / "pid").read_text()))


def test_an_interrupt_kills_it_and_all_that_it_started(workspace: Path) -> None:
    interrupt = Interrupt()
    script = "setsid sleep 300 & echo $! > orphan; echo $$ > pid; trap '' TERM INT HUP; sleep 300"
    failures: list[BaseException] = []

    def work() -> None:
        try:
            run(script, workspace, interrupt=interrupt)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    pids = [pid_in(workspace / name) for name in ("pid", "orphan")]
    interrupt.trip(Reason.CANCELLED)
    thread.join(WAIT_SECONDS)
    assert [type(failure) for failure in failures] == [Interrupted]
    assert all(gone(pid) for pid in pids)


def test_an_interrupt_before_it_starts_leaves_nothing(workspace: Path) -> None:
    interrupt = Interrupt()
    interrupt.trip(Reason.CANCELLED)
    with pytest.raises(Interrupted):
        run("sleep 0.5; touch effect", workspace, interrupt=interrupt)
    assert not (workspace / "effect").exists()


_WORKER = """
import sys
from pathlib import Path
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.commands import Commands, Order
workspace = Path(sys.argv[1])
commands = Commands({"PATH": "/usr/bin:/bin"}, workspace.parents[2])
commands.run(Order(sys.argv[2], workspace, 300), workspace, Interrupt())
"""


def test_a_worker_that_is_killed_takes_its_command_along(workspace: Path) -> None:
    """The bar: the command's later effect does not happen."""
    os.mkfifo(workspace / "go", 0o666)
    (workspace / "go").chmod(0o666)
    script = "setsid sleep 300 & echo $! > orphan; echo $$ > pid; read go < go; touch effect"
    worker = subprocess.Popen([sys.executable, "-c", _WORKER, str(workspace), script], cwd=ROOT)
    pids = [pid_in(workspace / name) for name in ("pid", "orphan")]
    worker.kill()
    worker.wait()
    until(lambda: all(gone(pid) for pid in pids))
    # The wait of the command is over only for one that lives: nobody reads any more.
    with pytest.raises(OSError):
        os.close(os.open(workspace / "go", os.O_WRONLY | os.O_NONBLOCK))
    assert not (workspace / "effect").exists()


def test_another_folder_under_the_same_name_is_not_entered(workspace: Path) -> None:
    """What was permitted is the folder that was looked at, not whatever has its name later."""
    folder = workspace / "below"
    folder.mkdir(mode=0o755)
    found = folder.stat()
    order = Order("pwd", folder, 30, (found.st_dev, found.st_ino))
    commands = Commands(PLAIN, workspace.parents[2])
    assert commands.run(order, workspace, Interrupt()).output.text() == f"{folder}\n"
    folder.rename(workspace / "before")
    folder.mkdir(mode=0o755)
    ended = commands.run(order, workspace, Interrupt())
    assert (ended.code, ended.output.text()) == (127, "")
    assert "exchanged" in ended.errors.text()


def test_a_folder_that_is_gone_is_said(workspace: Path) -> None:
    commands = Commands(PLAIN, workspace.parents[2])
    ended = commands.run(Order("pwd", workspace / "gone", 30), workspace, Interrupt())
    assert ended.code == 127
    assert "cannot start" in ended.errors.text()


def test_root_without_the_agents_user_refuses_and_says_what_to_do(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    commands = Commands(PLAIN, workspace.parents[2], user=lambda: None)
    with pytest.raises(ToolError, match=r"user habakkuk-agent is missing.*useradd"):
        commands.run(Order("id", workspace, 30), workspace, Interrupt())


def test_many_at_once_do_not_disturb_each_other(workspace: Path) -> None:
    outputs: dict[int, str] = {}

    def work(number: int) -> None:
        outputs[number] = run(f"echo {number}; sleep 0.1", workspace).output.text()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: f"{number}\n" for number in range(8)}


def test_no_descriptor_is_left_open(workspace: Path) -> None:
    run("true", workspace)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run("true", workspace)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_first_closed_folder_above_is_found(tmp_path: Path) -> None:
    """pytest's own folder is closed to others already: it is the first on the way."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    closed = closed_to(folder, AgentUser(54321, 54321))
    assert closed is not None
    assert closed in folder.parents
    assert not closed.stat().st_mode & 0o001
    assert all(above.stat().st_mode & 0o001 for above in closed.parents)


def test_the_owner_passes_his_own_folders(tmp_path: Path) -> None:
    own = AgentUser(tmp_path.stat().st_uid, tmp_path.stat().st_gid)
    (tmp_path / "a").mkdir(mode=0o700)
    assert closed_to(tmp_path / "a" / "b", own) is None


def test_what_others_can_read_is_found_below_what_they_can_pass(tmp_path: Path) -> None:
    for name, mode in (("open", 0o711), ("shut", 0o700), ("listed", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        (tmp_path / name / "file").chmod(0o644)
        (tmp_path / name).chmod(mode)
    (tmp_path / "closed").touch()
    (tmp_path / "closed").chmod(0o640)
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert readable_by_others(tmp_path) == [
        str(tmp_path / "listed"),
        str(tmp_path / "listed" / "file"),
        str(tmp_path / "open" / "file"),
    ]
