"""Python programs as forks of this process, which has imported what they need.

Libraries are most of what a worker holds and most of its start. Forked from a process that has
them, several programs hold them once and begin at once; for the rest they are processes as others
are. A fork takes neither threads nor connections along, so there may be none when it happens.

Linux only: on macOS system libraries do not survive a fork.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from habakkuk.core.config.environment import replace_environment
from habakkuk.core.errors import HabakkukError
from habakkuk.core.heap import give_back, use_one_heap
from habakkuk.ops.spawn import Program
from habakkuk.ops.tether import tie_to

_PR_SET_NAME = 15  # Linux: include/uapi/linux/prctl.h
_FIRST_OTHER_FILE = 3  # after stdin, stdout and stderr
_EVERY_FILE = 1_048_576


class Forked:
    """A program that runs as a fork; what `subprocess.Popen` is for others."""

    def __init__(self, pid: int) -> None:
        """Take the child."""
        self.pid = pid
        self.returncode: int | None = None

    def wait(self) -> int:
        """Wait for its end, reap it, and return how it ended: negative after a signal."""
        if self.returncode is None:
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class LoadFailed(Exception):
    """What was to be shared does not import. A program of its own says so in its own log."""


class Forks:
    """Imports once, in the background, and forks from then on."""

    def __init__(self, load: Callable[[], None]) -> None:
        """Begin to `load`; it may leave neither a thread nor a connection behind."""
        self._load = load
        self._failure: BaseException | None = None
        use_one_heap()
        self._loading: threading.Thread | None = threading.Thread(target=self._run, name="loading")
        self._loading.start()

    def start(self, name: str, program: Program, log: int) -> Forked:
        """Start `python -m MODULE ARGUMENT…`. Only in the main thread, once nothing else runs.

        Waits for the imports. Raises LoadFailed when they failed, or the HabakkukError of theirs.
        """
        self._finish_loading()
        if threading.active_count() > 1:
            raise AssertionError(f"a fork beside other threads: {threading.enumerate()}")
        parent = os.getpid()
        # A signal between the fork and the end of our own handlers would be lost.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if pid == 0:
                _become(name, program, log, parent, before)
        finally:
            # Also when there was no room for another process: this one must hear of its end.
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return Forked(pid)

    def _run(self) -> None:
        try:
            self._load()
        except BaseException as error:  # noqa: BLE001 - passed on to whoever forks
            self._failure = error

    def _finish_loading(self) -> None:
        if self._loading is not None:
            self._loading.join()
            self._loading = None
            # The collector writes into what it looks at, and a page that is written is a copy.
            gc.collect()
            gc.freeze()
            give_back()
        if isinstance(self._failure, HabakkukError):
            raise self._failure
        if self._failure is not None:
            raise LoadFailed(str(self._failure)) from self._failure


def _become(
    name: str, program: Program, log: int, parent: int, signals: set[signal.Signals | int]
) -> NoReturn:
    """Be the program, to its end: nothing of the parent that stands on the stack may go on."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        tie_to(parent)
        # For `top`: the command line that is shown stays the parent's.
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
        _take_place(program, log)
        code = _run_module(program.arguments[2], program.arguments[3:])
    except SystemExit:
        # The parent is gone: there is nobody to start for, and nobody to tell.
        pass
    except BaseException:  # noqa: BLE001 - the top of a process
        traceback.print_exc()
    finally:
        os._exit(code)


def _take_place(program: Program, log: int) -> None:
    """Take the program's session, folder, variables and files."""
    os.setsid()
    os.umask(0o077)
    os.chdir(program.folder)
    replace_environment(program.variables)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in enumerate((nothing, log, log)):
        os.dup2(source, number)
    os.closerange(_FIRST_OTHER_FILE, _EVERY_FILE)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # It was made for what the parent's stdout is, perhaps a file.
        sys.stdout.reconfigure(line_buffering=True)


def _run_module(module: str, arguments: Sequence[str]) -> int:
    """Run it as `python -m` does, to what is done at the interpreter's end; return its code."""
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    threading._shutdown()  # type: ignore[attr-defined] # as multiprocessing ends its forks
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return code
