"""Checkpoints of a workspace, with the real git."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import Invalid, NotFound
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.checkpoints import shadow
from habakkuk.tools.checkpoints.service import Checkpoints, turn_id, undo_id
from habakkuk.tools.checkpoints.types import Kind, Label

Tree = dict[str, bytes]


class Place:
    """A home with one agent."""

    def __init__(self, home: Path, **settings: object) -> None:
        self.home = home
        self.workspace = home / "agents/a/workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        agents = {"a": AgentConfig.model_validate(settings)}
        self.kept = Checkpoints(home, agents, lambda name: home / "agents" / name / "workspace")

    def put(self, **files: str | bytes) -> None:
        for name, content in files.items():
            self.put_one(name.replace("__", "/"), content)

    def put_one(self, name: str, content: str | bytes) -> None:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def tree(self) -> Tree:
        return {
            str(path.relative_to(self.workspace)): (
                os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            )
            for path in sorted(self.workspace.rglob("*"))
            if path.is_symlink() or path.is_file()
        }

    def before(self, turn: str, conversation: str = "conv") -> str:
        label = Label(turn_id(turn), Kind.TURN, "ses", conversation, turn, f"do {turn}")
        self.kept.before("a", label, Interrupt())
        assert self.kept.problem("a") is None
        return label.id

    def undo(self, job: str, conversation: str = "conv") -> str:
        label = Label(undo_id(job), Kind.UNDO, "ses", conversation)
        done = self.kept.undo("a", label, Interrupt())
        return done.to.label.turn if done.to else ""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "house")


def test_a_state_comes_back_byte_for_byte(place: Place) -> None:
    """Whatever a .gitattributes asks for: nothing of it is done."""
    place.put_one(
        ".gitattributes", "* text=auto eol=lf ident filter=x\n*.u working-tree-encoding=UTF-16\n"
    )
    place.put(crlf=b"a\r\nb\n", ident="$Id$\n", deep__er__file="x", empty="", binary=b"\0\xff\r\n")
    place.put_one("odd \n'\"é$(x)", "odd")
    place.put_one("x.u", "plain")
    (place.workspace / "link").symlink_to("/etc/passwd")
    (place.workspace / "run").write_text("#!/bin/sh\n")
    (place.workspace / "run").chmod(0o755)
    first = place.tree()
    checkpoint = place.before("t1")
    place.put(crlf="changed", new__file="new", binary="x")
    (place.workspace / "run").chmod(0o644)
    for name in ("link", "x.u", "empty"):
        (place.workspace / name).unlink()
    (place.workspace / "deep/er/file").unlink()
    (place.workspace / "deep/er").rmdir()
    place.put(deep__er="now a file")
    second = place.tree()
    done = place.kept.rollback("a", checkpoint)
    assert place.tree() == first
    assert (place.workspace / "run").stat().st_mode & 0o111
    assert not (place.workspace / "new").exists()
    assert done.left == ()
    # What a rollback replaced can be brought back too.
    (newest, _) = place.kept.all("a")
    assert (newest.label.kind, newest.label.restored) == (Kind.ROLLBACK, checkpoint)
    place.kept.rollback("a", newest.id)
    assert place.tree() == second


def test_the_preview_says_what_would_change_and_changes_nothing(place: Place) -> None:
    place.put(file="a\n", other="b\n")
    checkpoint = place.before("t1")
    place.put(file="c\n", other="d\n")
    target, stat = place.kept.preview("a", checkpoint[:8], "file")
    assert target.id == checkpoint
    assert stat == " file | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)"
    assert "2 files changed" in place.kept.preview("a", checkpoint)[1]
    assert place.tree() == {"file": b"c\n", "other": b"d\n"}


def test_one_path_comes_back_alone(place: Place) -> None:
    place.put(sub__a="1", sub__b="1", top="1")
    checkpoint = place.before("t1")
    place.put(sub__a="2", sub__b="2", sub__c="2", top="2")
    place.kept.rollback("a", checkpoint, "sub")
    assert place.tree() == {"sub/a": b"1", "sub/b": b"1", "top": b"2"}


def test_a_turn_has_one_checkpoint_however_often_it_is_asked_for(place: Place) -> None:
    """Run again after a crash, and by calls side by side."""
    place.put(file="1")
    place.before("t1")
    place.put(file="2")
    threads = [threading.Thread(target=place.before, args=("t1",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.label.turn for one in place.kept.all("a")] == ["t1"]
    assert place.undo("j1") == "t1"
    assert place.tree() == {"file": b"1"}


class TestUndo:
    def test_it_goes_further_back_each_time_and_on_after_a_new_turn(self, place: Place) -> None:
        for number in "1234":
            place.put(file=number)
            place.before(f"t{number}")
        # This turn changed nothing.
        place.before("t5")
        place.put(file="5")
        assert [place.undo(f"j{n}") for n in range(2)] == ["t5", "t3"]
        assert place.tree() == {"file": b"3"}
        place.before("t6")
        place.put(file="6")
        assert [place.undo(f"k{n}") for n in range(4)] == ["t6", "t2", "t1", ""]
        assert place.tree() == {"file": b"1"}

    def test_turns_of_another_conversation_are_not_its_own(self, place: Place) -> None:
        place.put(file="1")
        place.before("t1")
        place.put(file="2")
        place.before("t2", "another")
        place.put(file="3")
        assert place.undo("j1", "third") == ""
        assert place.undo("j2", "another") == "t2"
        assert place.undo("j3") == "t1"

    def test_one_that_was_cut_short_goes_on_to_the_same_state(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A kill in the middle of the restoring, and the job is run again."""
        place.put(a="1", b="1")
        place.before("t1")
        place.put(a="2", b="2", c="2")
        monkeypatch.setattr(shadow.Shadow, "write_out", _killed)
        with pytest.raises(SystemExit):
            place.undo("j1")
        assert place.tree() == {"a": b"2", "b": b"2"}
        monkeypatch.undo()
        assert place.undo("j1") == "t1"
        assert place.tree() == {"a": b"1", "b": b"1"}
        # The state before it is one checkpoint, whole.
        undone = [one for one in place.kept.all("a") if one.label.kind is Kind.UNDO]
        assert len(undone) == 1
        place.kept.rollback("a", undone[0].id)
        assert place.tree() == {"a": b"2", "b": b"2", "c": b"2"}


def _killed(*_: object) -> None:
    raise SystemExit


class TestLeftOut:
    def test_what_is_ignored_or_large_or_in_a_repository_is_neither_kept_nor_touched(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shadow, "LARGEST_FILE", 1000)
        place.put_one(".gitignore", "*.log\n/build/\n")
        place.put(file="1", noise__a_log="x", large="x" * 1001)
        place.put_one("a.log", "1")
        place.put_one("build/out", "1")
        subprocess.run(["git", "init", "-q", "nested"], cwd=place.workspace, check=True)
        place.put(nested__inner="1")
        checkpoint = place.before("t1")
        place.put(file="2", large="y" * 1001, nested__inner="2")
        place.put_one("a.log", "2")
        place.kept.rollback("a", checkpoint)
        found = place.tree()
        assert (found["file"], found["a.log"], found["nested/inner"]) == (b"1", b"2", b"2")
        assert found["large"] == b"y" * 1001
        assert found["build/out"] == b"1"

    def test_what_no_checkpoint_has_is_not_overwritten_either(self, place: Place) -> None:
        place.put(data="kept", folder="a file")
        checkpoint = place.before("t1")
        (place.workspace / "folder").unlink()
        place.put_one(".gitignore", "data\nfolder/\n")
        place.put(data="precious", folder__x="precious")
        done = place.kept.rollback("a", checkpoint)
        assert place.tree() == {"data": b"precious", "folder/x": b"precious"}
        assert sorted(done.left) == [
            "data: a file that is in no checkpoint stands there",
            "folder: a folder with files that are in no checkpoint stands there",
        ]

    def test_too_much_that_is_new_is_no_checkpoint_and_is_told(self, tmp_path: Path) -> None:
        place = Place(tmp_path / "house", checkpoint_max_mb=1)
        place.put(a="x" * 600_000, b="x" * 600_000)
        label = Label(turn_id("t1"), Kind.TURN, "ses", "conv", "t1")
        place.kept.before("a", label, Interrupt())
        problem = place.kept.problem("a")
        assert problem is not None
        assert problem.endswith(": 1 MB are new or changed, more than the 1 of checkpoint_max_mb")
        assert place.kept.all("a") == []
        (place.workspace / "b").unlink()
        place.before("t2")

    def test_a_file_that_cannot_be_read_stops_nothing(self, place: Place) -> None:
        place.put(file="1", closed="1")
        (place.workspace / "closed").chmod(0)
        os.mkfifo(place.workspace / "pipe")
        checkpoint = place.before("t1")
        place.put(file="2")
        place.kept.rollback("a", checkpoint)
        assert (place.workspace / "file").read_text() == "1"
        assert (place.workspace / "closed").exists()

    def test_a_folder_that_became_a_link_is_the_link(self, place: Place, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "file").write_text("outside")
        place.put(sub__file="1")
        first = place.before("t1")
        (place.workspace / "sub/file").unlink()
        (place.workspace / "sub").rmdir()
        (place.workspace / "sub").symlink_to(outside)
        second = place.before("t2")
        place.kept.rollback("a", first)
        assert place.tree() == {"sub/file": b"1"}
        assert (outside / "file").read_text() == "outside"
        place.kept.rollback("a", second)
        assert (place.workspace / "sub").is_symlink()
        assert (outside / "file").read_text() == "outside"


class TestFailing:
    def test_without_git_there_is_none_and_it_is_told(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shutil.which", lambda _: None)
        place.kept.before("a", Label(turn_id("t"), Kind.TURN), Interrupt())
        assert "there is no git on this machine" in str(place.kept.problem("a"))
        assert place.kept.all("none") == []

    def test_a_broken_repository_stops_no_turn(self, place: Place) -> None:
        place.put(file="1")
        place.before("t1")
        for path in (place.home / "checkpoints/a.git/objects").rglob("*"):
            if path.is_file():
                path.write_bytes(b"broken")
        place.put(file="2")
        place.kept.before("a", Label(turn_id("t2"), Kind.TURN), Interrupt())
        assert "git" in str(place.kept.problem("a"))

    def test_locks_of_a_killed_git_are_in_nobodys_way(self, place: Place) -> None:
        place.put(file="1")
        place.before("t1")
        (place.home / "checkpoints/a.git/index.lock").touch()
        place.put(file="2")
        place.before("t2")

    def test_a_stopped_turn_waits_for_nothing(self, place: Place) -> None:
        stopped = Interrupt()
        stopped.trip(Reason.CANCELLED)
        with pytest.raises(Interrupted):
            place.kept.before("a", Label(turn_id("t"), Kind.TURN), stopped)

    @pytest.mark.parametrize("written", ["cp_0", "", "--output=/etc/x", "../../HEAD", "cp_*"])
    def test_an_id_that_is_none_is_refused(self, place: Place, written: str) -> None:
        place.before("t1")
        with pytest.raises(NotFound, match="there is no checkpoint"):
            place.kept.rollback("a", written)

    def test_a_beginning_of_two_ids_is_refused(self, place: Place) -> None:
        place.before("t1")
        place.before("t2")
        with pytest.raises(Invalid, match="begins the ids of 2 checkpoints"):
            place.kept.rollback("a", "cp_")


def test_what_is_old_goes_and_its_room_with_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow, "_KEPT_COUNT", 3)
    for number in range(5):
        place.put(file=os.urandom(200_000).hex())
        place.before(f"t{number}")
    before = _size(place.home / "checkpoints/a.git")
    assert place.kept.clear(Interrupt()) == 2
    assert [one.label.turn for one in place.kept.all("a")] == ["t4", "t3", "t2"]
    assert _size(place.home / "checkpoints/a.git") < before * 0.7
    # The rest is whole.
    place.kept.rollback("a", turn_id("t2"))


def test_more_than_its_room_is_cut_to_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path / "house", checkpoint_max_mb=1)
    monkeypatch.setattr(shadow, "_LEAST_KEPT", 2)
    monkeypatch.setattr("habakkuk.tools.checkpoints.service._SIZES_KEPT", 1)
    for number in range(6):
        place.put(file=os.urandom(400_000))
        place.before(f"t{number}")
    place.kept.clear(Interrupt())
    assert [one.label.turn for one in place.kept.all("a")] in (["t5", "t4"], ["t5", "t4", "t3"])


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_its_folder_is_for_the_workspaces_owner_alone(place: Place) -> None:
    """Git runs as whom the workspace belongs to, never as root in what others may write."""
    place.put(file="1")
    place.before("t1")
    repository = place.home / "checkpoints/a.git"
    assert repository.stat().st_mode & 0o077 == 0
    assert repository.stat().st_uid == place.workspace.stat().st_uid
