"""Several files replaced as one: all are new or all are old, wherever a process is killed; and the lock of a folder."""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from heedful.errors import CannotWrite, HeedfulError
from heedful.records.commit import Staged, finish_commit, is_pending, replacing_together
from heedful.records.lock import FolderLock

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree")


def nothing_more(_staged: Staged) -> None:
    return


def write(folder: Path, text: str) -> None:
    """Replace a file, one in a folder, and a folder of two; remove another file."""
    with replacing_together(folder, nothing_more) as staged:
        staged.place("a").write_text(text)
        staged.place("deep/b").write_text(text)
        place = staged.place("model")
        place.mkdir()
        for name in ("x", "y"):
            (place / name).write_text(text)
        staged.remove("old")


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


OLD = dict.fromkeys(("a", "deep/b", "model/x", "model/y", "old"), "1")
NEW = dict.fromkeys(("a", "deep/b", "model/x", "model/y"), "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "1")
    (tmp_path / "old").write_text("1")
    assert contents(tmp_path) == OLD
    return tmp_path


def killed_before(folder: Path, change: int) -> bool:
    """Write in a process of its own that dies before its `change`-th change of a file; whether it died."""
    child = os.fork()
    if child == 0:
        try:
            seen = [0]

            def hear(event: str, arguments: tuple) -> None:
                writes = event == "open" and arguments[2] & os.O_WRONLY
                if (writes or event in CHANGES) and str(folder) in str(arguments[0]):
                    seen[0] += 1
                    if seen[0] == change:
                        os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(hear)
            write(folder, "2")
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("change", range(1, 40))
def test_killed_anywhere(folder: Path, change: int) -> None:
    died = killed_before(folder, change)
    assert died or change > 15
    pending = is_pending(folder)
    finish_commit(folder)
    found = {name: text for name, text in contents(folder).items() if not name.startswith(".")}
    assert found == (NEW if pending or not died or found == NEW else OLD)
    write(folder, "3")
    assert contents(folder) == dict.fromkeys(NEW, "3")
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_an_error_changes_nothing(folder: Path) -> None:
    def fail() -> None:
        with replacing_together(folder, nothing_more) as staged:
            staged.place("a").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert contents(folder) == OLD


def test_a_file_does_not_replace_a_folder(folder: Path) -> None:
    """Before anything is decided."""

    def replace() -> None:
        with replacing_together(folder, nothing_more) as staged:
            staged.place("a").write_text("2")
            staged.place("model").write_text("2")

    with pytest.raises(CannotWrite, match="Is a directory"):
        replace()
    assert contents(folder) == OLD


def test_what_is_replaced_is_not_removed(folder: Path) -> None:
    with replacing_together(folder, nothing_more) as staged:
        staged.remove("a")
        staged.place("a").write_text("2")
    assert contents(folder) == {**OLD, "a": "2"}


@pytest.mark.parametrize("plan", ["", "{}", "[]", '{"replace": 1, "remove": []}'])
def test_a_plan_that_is_damaged(folder: Path, plan: str) -> None:
    (folder / ".commit").mkdir()
    (folder / ".commit" / "plan.json").write_text(plan)
    with pytest.raises(HeedfulError, match=r"\.commit is damaged") as caught:
        finish_commit(folder)
    assert "move it away" in (caught.value.hint or "")


class TestLock:
    def test_is_given_back_as_often_as_it_is_taken(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        mine, theirs = FolderLock(tmp_path), FolderLock(tmp_path)
        mine.acquire()
        mine.acquire()
        mine.release()
        assert mine.held
        with pytest.raises(HeedfulError, match=f"in use by process {os.getpid()}"):
            theirs.acquire()
        mine.release()
        theirs.acquire()
        theirs.release()

    def test_waits_as_long_as_it_is_told(self, tmp_path: Path) -> None:
        mine = FolderLock(tmp_path)
        mine.acquire()
        began = time.monotonic()
        with pytest.raises(HeedfulError):
            FolderLock(tmp_path).acquire(wait=0.2)
        assert time.monotonic() - began >= 0.2
        mine.release()

    def test_leaves_an_empty_folder_empty(self, tmp_path: Path) -> None:
        mine = FolderLock(tmp_path)
        mine.acquire()
        mine.release()
        assert list(tmp_path.iterdir()) == []

    def test_of_a_folder_that_is_gone(self, tmp_path: Path) -> None:
        (tmp_path / "run").mkdir()
        mine = FolderLock(tmp_path / "run")
        mine.acquire()
        shutil.rmtree(tmp_path / "run")
        mine.release()
        assert not mine.held

    def test_of_a_file_that_was_removed_meanwhile_is_worth_nothing(self, tmp_path: Path) -> None:
        """Its last holder took it away: whoever had opened it before must not believe to have it."""
        mine, theirs = FolderLock(tmp_path), FolderLock(tmp_path)
        mine.acquire()
        (tmp_path / ".lock").unlink()
        theirs.acquire()
        with pytest.raises(HeedfulError):
            FolderLock(tmp_path).acquire()
        theirs.release()
