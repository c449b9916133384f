"""Writing whole or not at all."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from heedful.errors import CannotWrite, HeedfulError
from heedful.text.atomic_files import own_name, remove_abandoned, remove_folder, replacing, replacing_folder, write_text


def write_half(path: Path, stop: BaseException) -> None:
    with replacing(path) as file:
        file.write(b"half")
        raise stop


def test_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "one\r\n")
    write_text(path, "two\n")
    assert path.read_bytes() == b"two\n"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_while_writing_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path, KeyboardInterrupt())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_an_error_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(HeedfulError, match=r"The disk is full: .*a\.txt could not be written\.") as caught:
        write_half(path, OSError(errno.ENOSPC, "No space left on device"))
    assert caught.value.hint is not None
    assert "Free some space" in caught.value.hint
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["a" * 255, "ä" * 127, "a" * 232])
def test_a_name_as_long_as_the_file_system_takes(tmp_path: Path, name: str) -> None:
    """And what a killed process left of it goes, as for any name."""
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    path = tmp_path / name
    left = own_name(path, "part").name.replace(str(os.getpid()), str(dead))
    (tmp_path / left).write_text("half")
    write_text(path, "whole")
    assert [found.name for found in tmp_path.iterdir()] == [name]
    with replacing_folder(tmp_path / name[:-1]) as folder:
        (folder / "inside").write_text("")
    assert sorted(found.name for found in tmp_path.iterdir()) == sorted([name, name[:-1]])


class TestFolders:
    def test_replaces_all_that_was_there(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "old").write_text("")
        with replacing_folder(tmp_path / "a") as folder:
            (folder / "new").write_text("")
            assert (tmp_path / "a" / "old").exists()
        assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["a", "a/new"]

    def test_an_error_keeps_the_old_one(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()

        def fail() -> None:
            with replacing_folder(tmp_path / "a") as folder:
                (folder / "new").write_text("")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert [path.name for path in tmp_path.rglob("*")] == ["a"]

    def test_removed_at_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever stops the removal of what is in it, its place is empty; what is left goes with the next call."""
        folder = tmp_path / "a"
        for name in ("one", "two"):
            (folder / name).mkdir(parents=True)

        def killed(_path: Path, **_options: object) -> None:
            if not folder.exists():
                raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(shutil, "rmtree", killed)
            with pytest.raises(KeyboardInterrupt):
                remove_folder(folder)
        assert not folder.exists()
        remove_folder(folder)
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeedfulError, match="could not be written: File exists"):
        write_text(tmp_path / "file" / "a.txt", "x")


@pytest.mark.parametrize(
    ("number", "said", "hint"),
    [
        (errno.EDQUOT, "The disk is full: there could not be written.", "Free some space"),
        (errno.EACCES, "there may not be written (permission denied).", "belongs to you"),
        (errno.EROFS, "there may not be written (read-only file system).", "belongs to you"),
        (errno.EFBIG, "there could not be written: File too large.", "name another place"),
    ],
)
def test_each_refusal_says_its_way_out(number: int, said: str, hint: str) -> None:
    refusal = CannotWrite("a part", OSError(number, os.strerror(number)))
    whole = CannotWrite("there", refusal)
    assert whole.message == said
    assert hint in str(whole.hint)
    assert whole.cause is refusal.cause


def test_what_a_killed_process_left_goes_and_what_another_one_writes_stays(tmp_path: Path) -> None:
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    path = tmp_path / "a.txt"
    (tmp_path / f".a.txt.{dead}.part").write_text("half")
    (tmp_path / f".a.txt.{dead}.partial").mkdir()
    others = [
        f".a.txt.{os.getppid()}.part",
        f".a.txt.{dead}.parts",
        f".b.txt.{dead}.part",
        ".a.txt.x.part",
        "a.txt.9.part",
    ]
    for name in others:
        (tmp_path / name).write_text("theirs")
    write_text(path, "whole")
    assert sorted(left.name for left in tmp_path.iterdir()) == sorted([*others, "a.txt", f".a.txt.{dead}.partial"])
    remove_abandoned(path, "partial")
    assert not (tmp_path / f".a.txt.{dead}.partial").exists()
    assert own_name(path, "part").name == f".a.txt.{os.getpid()}.part"
