"""Hooks are told what happens; the one kind that is asked never fails open (seed, Hooks)."""

from __future__ import annotations

import errno
import json
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from structlog.testing import capture_logs

from habakkuk.core.config.schema import HookConfig
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.hooks import command
from habakkuk.hooks.service import Hooks
from habakkuk.hooks.types import Happening, HookEvent

_MANY = 1_500
CALL = Happening(HookEvent.TOOL_BEFORE, "exec", {"input": {"command": "ls"}})


def hooks(home: Path, *config: dict[str, Any], **environment: str) -> Hooks:
    made = [HookConfig.model_validate(one) for one in config]
    return Hooks(made, {"PATH": os.environ["PATH"], **environment}, home)


def before(command: str, **more: Any) -> dict[str, Any]:
    return {"event": "tool_before", "command": command, **more}


def told(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_code_0_lets_a_call_go_on(tmp_path: Path) -> None:
    assert hooks(tmp_path, before("true")).ask(CALL, Interrupt()) is None


def test_another_code_forbids_it_and_what_was_printed_is_the_reason(tmp_path: Path) -> None:
    found = hooks(tmp_path, before("echo not on Sundays; exit 3")).ask(CALL, Interrupt())
    assert found is not None
    assert found.reason == "not on Sundays"


def test_without_a_word_the_code_is_the_reason(tmp_path: Path) -> None:
    found = hooks(tmp_path, before("exit 3")).ask(CALL, Interrupt())
    assert found is not None
    assert found.reason == "it ended with code 3"


@pytest.mark.parametrize(
    "command",
    ["sleep 60", "sleep 60 & wait", "trap '' TERM; sleep 60", "cat > /dev/null; sleep 60"],
)
def test_one_that_takes_too_long_forbids(tmp_path: Path, command: str) -> None:
    found = hooks(tmp_path, before(command, timeout="200ms")).ask(CALL, Interrupt())
    assert found is not None
    assert "did not end within 0.2 s" in found.reason


@pytest.mark.parametrize("command", ["/no/such/program", "kill -9 $$", "exit 126", "( "])
def test_one_that_cannot_do_its_work_forbids(tmp_path: Path, command: str) -> None:
    assert hooks(tmp_path, before(command)).ask(CALL, Interrupt()) is not None


def test_one_whose_folder_is_gone_forbids(tmp_path: Path) -> None:
    assert hooks(tmp_path / "gone", before("true")).ask(CALL, Interrupt()) is not None


def test_one_forbids_when_there_is_no_room_for_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.TemporaryFile

    def full() -> IO[bytes]:
        if threading.current_thread() is threading.main_thread():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # What hooks of other tests still write.
        return make()

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    found = hooks(tmp_path, before("true")).ask(CALL, Interrupt())
    assert found is not None
    assert "could not be started" in found.reason


def test_one_is_heard_by_a_process_with_many_open_files(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < _MANY:
        pytest.skip("this system lets nobody open so many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, _MANY), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(_MANY - 100)]
    try:
        assert hooks(tmp_path, before("true")).ask(CALL, Interrupt()) is None
    finally:
        for handle in held:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_hooks_are_told_after_some_could_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As many as there are tellers: one that dies uncounted would never be replaced.
    seen, failures = tmp_path / "seen", iter(range(8))
    run = command.run

    def broken(*given: Any) -> command.Ran:
        if next(failures, None) is not None:
            raise MemoryError
        return run(*given)

    monkeypatch.setattr(command, "run", broken)
    made = hooks(tmp_path, {"event": "turn_end", "command": f"echo told >> {seen}"})
    with capture_logs() as logged:
        for _ in range(9):
            made.tell(Happening(HookEvent.TURN_END, "habakkuk"))
        until(lambda: told(seen))
        until(lambda: sum(line["event"] == "a hook could not be run" for line in logged) == 8)


def test_the_first_objection_counts_and_ends_the_asking(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    found = hooks(tmp_path, before("echo first; exit 1"), before(f"touch {seen}; exit 1")).ask(
        CALL, Interrupt()
    )
    assert found is not None
    assert found.reason == "first"
    assert not seen.exists()


def test_a_match_chooses_the_subjects(tmp_path: Path) -> None:
    guard = hooks(tmp_path, before("exit 1", match="^(exec|write_file)$"))
    assert guard.ask(CALL, Interrupt()) is not None
    assert guard.ask(Happening(HookEvent.TOOL_BEFORE, "exec_more"), Interrupt()) is None


def test_the_event_comes_as_json_and_little_else(tmp_path: Path) -> None:
    seen, names = tmp_path / "seen", tmp_path / "names"
    guard = hooks(tmp_path, before(f"cat > {seen}; env > {names}; pwd >> {names}"), SECRET="canary")
    assert guard.ask(CALL, Interrupt()) is None
    assert json.loads(seen.read_text()) == {
        "event": "tool_before",
        "subject": "exec",
        "input": {"command": "ls"},
    }
    told_names = names.read_text().splitlines()
    assert "HABAKKUK_EVENT=tool_before" in told_names
    assert f"HABAKKUK_HOME={tmp_path}" in told_names
    assert told_names[-1] == str(tmp_path)
    assert "canary" not in names.read_text()


def test_one_that_reads_nothing_and_prints_much_is_no_trouble(tmp_path: Path) -> None:
    large = Happening(HookEvent.TOOL_BEFORE, "exec", {"input": "x" * 5_000_000})
    guard = hooks(tmp_path, before("head -c 3000000 /dev/zero | tr '\\0' x; exit 1"))
    found = guard.ask(large, Interrupt())
    assert found is not None
    assert set(found.reason) == {"x"}
    assert len(found.reason) <= 4_096


def test_what_it_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    guard = hooks(tmp_path, before("sleep 5 & exit 0", timeout="4s"))
    assert guard.ask(CALL, Interrupt()) is None


def test_what_it_leaves_running_may_print_for_ever(tmp_path: Path) -> None:
    guard = hooks(tmp_path, before("yes & sleep 0.2; exit 0", timeout="4s"))
    assert guard.ask(CALL, Interrupt()) is None


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    started = tmp_path / "started"
    interrupt = Interrupt()

    def stop() -> None:
        until(started.exists)
        interrupt.trip(Reason.CANCELLED)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(Interrupted):
        hooks(tmp_path, before(f"touch {started}; sleep 60", timeout="50s")).ask(CALL, interrupt)
    thread.join()


def test_what_has_happened_is_told_in_the_background(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    teller = hooks(
        tmp_path,
        {"event": "turn_end", "command": f"cat >> {seen}"},
        {"event": "turn_start", "command": "false"},
    )
    for number in range(20):
        teller.tell(Happening(HookEvent.TURN_END, "habakkuk", {"number": number}))
    until(lambda: len(told(seen)) == 20)
    numbers = sorted(json.loads(line)["number"] for line in told(seen))
    assert numbers == list(range(20))


def test_a_slow_one_holds_nobody_up(tmp_path: Path) -> None:
    release = tmp_path / "release"
    command = f"while [ ! -e {release} ]; do sleep 0.02; done"
    teller = hooks(tmp_path, {"event": "turn_end", "command": command})
    for _ in range(2_000):
        teller.tell(Happening(HookEvent.TURN_END, "habakkuk"))
    release.touch()


def test_only_what_is_heard_of_needs_to_be_described(tmp_path: Path) -> None:
    teller = hooks(tmp_path, {"event": "turn_end", "command": "true"})
    assert teller.hear(HookEvent.TURN_END)
    assert not teller.hear(HookEvent.TOOL_BEFORE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"event": "tool_during", "command": "true"},
        {"event": "tool_before", "command": ""},
        {"event": "tool_before", "command": "true", "match": "("},
        {"event": "tool_before", "command": "true", "timeout": "0s"},
    ],
)
def test_a_hook_that_could_never_work_is_refused_at_the_start(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"write|event|command"):
        HookConfig.model_validate(wrong)
