"""The process that reads: what it can still do, and that it ends with its worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.documents.reader import Documents
from habakkuk.documents.types import Unreadable
from tests.fakes import documents as made

ROOT = Path(__file__).parents[4]
TRIALS = {
    "a file": "open('/etc/hostname')",
    "a new file": "open('/tmp/x-of-a-document', 'w')",
    "a socket": "import _socket; _socket.socket()",
    "a pipe": "os.pipe()",
    "a process": "os.fork()",
    "its limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
    "memory": "x = bytearray(2_000_000_000)",
}


def program(tmp_path: Path, text: str) -> str:
    """Return a program that stands in for the child's own."""
    path = tmp_path / "child.py"
    path.write_text(textwrap.dedent(text))
    return str(path)


def test_a_document_is_read_by_the_process() -> None:
    found = Documents().read(made.pdf([["one"], ["two"]]), "2", 0, Interrupt())
    assert found.text == "--- page 2 of 2 ---\ntwo\n\n"
    assert list(found.chosen) == [2]


def test_what_it_says_is_wrong_is_said() -> None:
    with pytest.raises(Unreadable, match="it is damaged"):
        Documents().read(b"%PDF-1.7", "", 0, Interrupt())


def test_a_selection_that_is_none_starts_nothing(tmp_path: Path) -> None:
    child = program(tmp_path, f"open({str(tmp_path / 'started')!r}, 'w')")
    with pytest.raises(Unreadable, match="write pages as numbers"):
        Documents(child).read(b"", "x", 0, Interrupt())
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("trial", TRIALS.values(), ids=TRIALS)
@pytest.mark.parametrize("as_root", [True, False], ids=["root", "user"])
def test_it_can_do_nothing_but_read(trial: str, as_root: bool) -> None:
    if os.geteuid() != 0 and as_root:
        pytest.skip("these tests run as an ordinary user")
    script = f"""
        import os, resource, sys
        sys.path.insert(0, {str(ROOT)!r})
        from habakkuk.core.confined import Allowance, give_up
        if not {as_root}:
            os.setgid(65534); os.setuid(65534)
        give_up(Allowance(1_500_000_000, 40, 80))
        try:
            {trial}
        except (OSError, MemoryError, ValueError) as error:
            print("refused")
    """
    ended = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == "refused\n", ended


def test_as_root_it_is_nobody() -> None:
    if os.geteuid() != 0:
        pytest.skip("these tests run as an ordinary user")
    script = (
        f"import os, sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from habakkuk.core.confined import Allowance, give_up\n"
        "give_up(Allowance(1_500_000_000, 40, 80))\n"
        "print(os.getresuid(), os.getresgid(), os.getgroups())"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "(65534, 65534, 65534) (65534, 65534, 65534) []\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it is damaged, or takes too"),
        ("print('nonsense')", "its reader broke off"),
        ("print('{\"text\": 1}')", "its reader broke off"),
        ("print('[' * 100_000)", "its reader broke off"),
        ("print('null')", "its reader broke off"),
    ],
    ids=["crash", "no JSON", "another JSON", "deep JSON", "null"],
)
def test_whatever_becomes_of_it_is_a_reason(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        Documents(program(tmp_path, text)).read(b"", "", 0, Interrupt())


@pytest.mark.skipif(sys.platform != "linux", reason="the tie to the parent is Linux's")
def test_it_dies_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    """The real child, held up by a document that never comes to its end."""
    fifo = tmp_path / "endless"
    os.mkfifo(fifo)
    script = f"""
        import os, subprocess, sys
        sys.path.insert(0, {str(ROOT)!r})
        from habakkuk.documents import reader
        child = subprocess.Popen([sys.executable, "-I", reader._PROGRAM, "{{}}"],
                                 stdin=os.open({str(fifo)!r}, os.O_RDWR))
        print(child.pid, flush=True)
        child.wait()
    """
    worker = subprocess.Popen(
        [sys.executable, "-I", "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    pid = int(worker.stdout.readline())
    child = psutil.Process(pid)
    # It reads its input once it is tied.
    deadline = time.monotonic() + 30
    while "defusedxml" not in _loaded(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    assert psutil.wait_procs([child], timeout=20)[1] == []


def _loaded(pid: int) -> str:
    """Return what libraries a process has: PDFium's comes with the readers."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return "defusedxml" if "pdfium" in maps else ""
