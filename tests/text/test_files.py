"""Writing whole or not at all."""

import errno
from pathlib import Path

import pytest

from heedful.errors import HeedfulError
from heedful.text.files import cannot_write, replacing, write_text


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
    with pytest.raises(HeedfulError, match=r"Cannot write .*a\.txt: No space left on device\.") as caught:
        write_half(path, OSError(errno.ENOSPC, "No space left on device"))
    assert caught.value.hint is not None
    assert "Free some space" in caught.value.hint
    assert path.read_text() == "old"


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeedfulError, match="Cannot write"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_other_refusals_have_no_hint_about_space(tmp_path: Path) -> None:
    assert cannot_write(tmp_path, PermissionError(errno.EACCES, "Permission denied")).hint is None
