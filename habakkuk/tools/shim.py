"""Run one command of an agent so that nothing of it outlives its call, or the worker.

`python -I -S shim.py STATUS_FD`, by path: it imports next to nothing, so that it costs a few
milliseconds. The first line of its standard input is the order, as JSON. The rest of that pipe is
the lifeline: when its other end closes, by intent or because the worker was killed, the command
and all its descendants are killed at once. How it ended is written to STATUS_FD as JSON.

Orphans come to this process (PR_SET_CHILD_SUBREAPER), so a descendant that left the process group
is found too. As root the command gets the agents' user, and a view of the file system in which
Habakkuk's home holds nothing but the workspace. Linux has all of this; elsewhere the process group
is what can be killed.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1  # Linux: include/uapi/linux/prctl.h
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWIPC = 0x0800_0000
_TERM_GRACE = 2.0  # seconds between the polite and the last signal after a timeout
_SWEEP_SECONDS = 3.0
_STOP_SECONDS = 15.0
_ORDER_LIMIT = 4_000_000
# A compiler may take hours, an answer may not: further than a worker steps back (core/priority.py).
_FURTHER, _FURTHEST = 5, 19
_COULD_NOT = 127  # as shells say it


class Failed(Exception):
    """The command could not be started; the text is for the model."""


class Order:
    """What to run. Plain attributes of the JSON object, checked by the one who writes it."""

    def __init__(self, raw: bytes) -> None:
        """Read the JSON line."""
        given = json.loads(raw)
        self.command: list[str] = given["command"]
        self.variables: dict[str, str] = given["variables"]
        self.folder: str = given["folder"]
        # None: as long as it likes.
        self.seconds: float | None = given["seconds"]
        self.workspace: str = given["workspace"]
        # As root: the agents' user, and the folder to hide; else None.
        self.user: list[int] | None = given["user"]
        self.hide: str | None = given["hide"]
        # Why the command must not run where nothing can be hidden; None when it may.
        self.objection: str | None = given["objection"]
        # The most of each resource, by the name of its RLIMIT_ constant.
        self.limits: dict[str, int] = given["limits"]
        # Device and inode of the folder that was permitted; None does not look.
        self.place: list[int] | None = given["place"]
        # A descriptor that becomes the command's standard input; None: it gets an empty one.
        self.input: int | None = given.get("input")
        # What closes the file system and sockets to it (confine.py); None: nothing does.
        self.confine: dict[str, object] | None = given["confine"]
        # What kills the command where it really runs, when that is elsewhere.
        self.stop: list[str] | None = given["stop"]
        # Whether it was asked to end before it began.
        self.ended = False


def main(status: int) -> None:
    """Read the order, run it, say how it ended."""
    raw = _read_order()
    if raw is None:
        return
    line, _, words = raw.partition(b"\n")
    try:
        order = Order(line)
        order.ended = bool(words)
        end = _run(order, status)
    except Failed as failure:
        end = {"failure": str(failure)}
    os.write(status, json.dumps(end).encode())


def _read_order() -> bytes | None:
    raw = bytearray()
    while b"\n" not in raw:
        chunk = os.read(0, 65536)
        if not chunk or len(raw) > _ORDER_LIMIT:
            return None
        raw += chunk
    return bytes(raw)


def _run(order: Order, status: int) -> dict[str, object]:
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if order.user is not None and order.hide is not None:
        _hide(order)
    scratch = _make_scratch(order)
    wake, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    child = os.fork()
    if child == 0:
        os.close(status)
        _become(order)
    # Only the command's own ends of its pipes may keep them open.
    os.close(1)
    os.close(2)
    if order.input is not None:
        os.close(order.input)
    try:
        return _watch(child, wake, order)
    finally:
        _sweep(child)
        _remove_scratch(scratch)


def _watch(child: int, wake: int, order: Order) -> dict[str, object]:
    """Wait for the end of the command, of its time or of the lifeline."""
    seconds = 0.0 if order.ended else order.seconds
    deadline = None if seconds is None else time.monotonic() + seconds
    timed_out = False
    while True:
        code = _reap(child)
        if code is not None:
            return {"code": code, "timed_out": timed_out}
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            if not timed_out:
                _stop_elsewhere(order)
            _kill_group(child, signal.SIGKILL if timed_out else signal.SIGTERM)
            deadline = time.monotonic() + _TERM_GRACE
            timed_out = True
            continue
        ready, _, _ = select.select([0, wake], [], [], left)
        if wake in ready:
            os.read(wake, 4096)
        if 0 in ready:
            if not os.read(0, 4096):
                _stop_elsewhere(order)
                return {"cut": True}
            # Any word asks for the end now, in the same way as when the time is over.
            deadline = min(deadline or math.inf, time.monotonic())


def _stop_elsewhere(order: Order) -> None:
    """Kill the command where it really runs: killing what speaks to that place would not.

    Failing that after some seconds, at least what runs here is killed.
    """
    if order.stop is None:
        return
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            null = os.open(os.devnull, os.O_RDWR)
            for handle in range(3):
                os.dup2(null, handle)
            os.execve(order.stop[0], order.stop, order.variables)  # noqa: S606 - its purpose
        finally:
            os._exit(_COULD_NOT)
    until = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < until:
        # Not _reap: the command's own end is still to be collected by the one who waits for it.
        if os.waitpid(child, os.WNOHANG)[0] == child:
            return
        time.sleep(0.02)
    _kill_group(child, signal.SIGKILL)


def _reap(child: int) -> int | None:
    """Collect what ended; return the command's exit code, negative for a signal."""
    code = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(ended)


def _sweep(child: int) -> None:
    """Kill everything that the command left, also what made a session of its own."""
    _kill_group(child, signal.SIGKILL)
    until = time.monotonic() + _SWEEP_SECONDS
    while time.monotonic() < until:
        for pid in _children():
            _kill(pid, signal.SIGKILL)
        _reap(child)
        try:
            # Their children come to us when they are collected: until there are none.
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                time.sleep(0.005)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """Return our direct children. Linux only; elsewhere none are known."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as listed:  # noqa: PTH123 - pathlib would double this program's start
            return [int(pid) for pid in listed.read().split()]
    except OSError:
        return []


def _kill_group(leader: int, sign: int) -> None:
    try:
        os.killpg(leader, sign)
    except (ProcessLookupError, PermissionError):
        # It has not made its group yet, or nothing is left of it.
        _kill(leader, sign)


def _kill(pid: int, sign: int) -> None:
    try:
        os.kill(pid, sign)
    except (ProcessLookupError, PermissionError):
        return


def _become(order: Order) -> None:
    """Turn this child into the command. Never returns."""
    try:
        os.setsid()
        _give_way()
        close = _confinement(order)
        _give_up(order)
        _enter(order)
        close()
        os.execve(order.command[0], order.command, order.variables)  # noqa: S606 - its purpose
    except (OSError, Failed) as error:
        os.write(2, f"the command cannot start in {order.folder}: {error}\n".encode())
    finally:
        os._exit(_COULD_NOT)


def _give_way() -> None:
    """Let who started this go first, where that steps back itself: this session as a whole."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    if own <= 0:
        return
    niceness = min(own + _FURTHER, _FURTHEST)
    os.setpriority(os.PRIO_PROCESS, 0, niceness)
    try:
        with open("/proc/self/autogroup", "w") as group:  # noqa: PTH123 - as above
            group.write(str(niceness))
    except OSError:
        return  # Not Linux, or one without it.


def _make_scratch(order: Order) -> str | None:
    """Make a folder for the temporary files of a command that may not write where all do."""
    if order.confine is None:
        return None
    import tempfile  # noqa: PLC0415 - it would double this program's start for all others

    folder = tempfile.mkdtemp(prefix="habakkuk-")
    if order.user is not None:
        os.chown(folder, *order.user)
    order.variables.update(dict.fromkeys(("TMPDIR", "TMP", "TEMP"), folder))
    order.confine["write"] = [*_listed(order.confine["write"]), folder]
    return folder


def _remove_scratch(folder: str | None) -> None:
    """Remove it when nothing that could use it is left."""
    if folder is not None:
        import shutil  # noqa: PLC0415 - as above

        shutil.rmtree(folder, ignore_errors=True)


def _listed(given: object) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []


def _confinement(order: Order) -> Callable[[], None]:
    """Return what closes the file system and sockets; loaded now, while all can be read."""
    if order.confine is None:
        return lambda: None
    import importlib.util  # noqa: PLC0415 - as above

    try:
        path = os.path.join(os.path.dirname(__file__), "confine.py")  # noqa: PTH118, PTH120 - as above
        spec = importlib.util.spec_from_file_location("confine", path)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - it is a path to a file
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        close = module.prepare(order.confine)
    except Exception as error:
        raise Failed(f"its sandbox cannot be set up: {error}") from error

    def closed() -> None:
        try:
            close()
        except Exception as error:
            raise Failed(f"its sandbox cannot be closed: {error}") from error

    return closed


def _enter(order: Order) -> None:
    """Go to the folder that was looked at, and to no other that has its name by now."""
    os.chdir(order.folder)
    found = os.stat(".")  # noqa: PTH116 - pathlib would double this program's start
    if order.place is not None and [found.st_dev, found.st_ino] != order.place:
        raise Failed("the folder was exchanged for another one meanwhile")


def _limit(limits: dict[str, int]) -> None:
    """Set limits, as far as the system knows them; one that is lower already stays."""
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            _, hard = resource.getrlimit(kind)
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (least, least))


def _give_up(order: Order) -> None:
    """Drop rights, and everything that a command must not inherit."""
    given = order.input
    if given is None:
        given = os.open(os.devnull, os.O_RDONLY)
    os.dup2(given, 0)
    os.close(given)
    signal.set_wakeup_fd(-1)
    for sign in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT):
        signal.signal(sign, signal.SIG_DFL)
    os.umask(0o077)
    _limit(order.limits | {"CORE": 0})
    if order.user is not None:
        uid, gid = order.user
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    # After the change of user, which clears it: the command dies with this shim.
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise Failed(f"the system refuses a precaution (prctl {option})")


def _hide(order: Order) -> None:
    """Put an empty folder in the place of `hide`, with nothing but the workspace in it.

    In a mount namespace of its own: other processes see no change. Where the system refuses that,
    as in most containers, file modes must do; the order's objection says when they do not.
    """
    # Last, so that nothing of ours stands in for a module of the system's.
    sys.path.append(__file__.rsplit("/", 3)[0])
    from habakkuk.tools import mounts  # noqa: PLC0415 - only as root is there something to hide

    if not mounts.own_view():
        if order.objection is not None:
            raise Failed(order.objection)
        return
    # Shared memory and message queues of its own, or they would outlive it and join what is apart.
    ctypes.CDLL(None).unshare(_CLONE_NEWIPC)
    hide = str(order.hide)
    flags = mounts.NOSUID | mounts.NODEV | mounts.REMOUNT | mounts.BIND | mounts.READ_ONLY
    try:
        mounts.show_only(hide, [order.workspace])
        mounts.mount("tmpfs", hide, "", flags)
    except mounts.NotMounted as error:
        raise Failed(f"Habakkuk's home cannot be hidden from commands: {error}") from error


if __name__ == "__main__":
    # Pipes that a command closes must not end this process.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.set_inheritable(int(sys.argv[1]), False)  # noqa: FBT003 - positional only
    os.umask(0o022)
    main(int(sys.argv[1]))
