"""Checksums as sha256sum writes them, and what is said of files that are not as they were."""

import hashlib
import os
from pathlib import Path

import pytest

from heedful.errors import HeedfulError
from heedful.records.checksums import (
    SUMS,
    check_files,
    checksum,
    forget_checksum,
    read_checksums,
    refuse_special_files,
    write_checksums,
)

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of no bytes at all [FIPS 180-4]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c d").write_text("abc")
    (tmp_path / "README.md").write_text("for people")
    write_checksums(tmp_path)
    return tmp_path


def test_are_those_of_the_standard(folder: Path) -> None:
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # the standard's own example
    assert (folder / SUMS).read_text() == f"{EMPTY}  a\n{abc}  b/c d\n"
    assert read_checksums(folder) == {"a": EMPTY, "b/c d": abc}
    assert checksum(folder / "a") == hashlib.sha256().hexdigest()
    check_files(folder)


def test_of_some_files(folder: Path) -> None:
    write_checksums(folder, ["a"])
    assert read_checksums(folder) == {"a": EMPTY}
    (folder / "b" / "c d").write_text("changed")
    check_files(folder)


def test_only_those_that_are_asked_for(folder: Path) -> None:
    (folder / "a").write_text("changed")
    check_files(folder, ["b/c d"])
    with pytest.raises(HeedfulError, match=r"a is damaged: it is not as it was written\.\nhint: .*take its line out"):
        check_files(folder, ["a"])


def test_missing_and_of_another_kind(folder: Path) -> None:
    (folder / "a").unlink()
    with pytest.raises(HeedfulError, match="a is missing"):
        check_files(folder)
    os.mkfifo(folder / "a")
    with pytest.raises(HeedfulError, match="a is no regular file"):
        check_files(folder)
    with pytest.raises(HeedfulError, match="a is no regular file, but a pipe, a socket or a device"):
        refuse_special_files(folder)


def test_a_folder_without_checksums_is_not_checked(folder: Path) -> None:
    (folder / SUMS).unlink()
    (folder / "a").write_text("changed")
    assert read_checksums(folder) is None
    check_files(folder)


@pytest.mark.parametrize(
    "text",
    [
        "x\n",
        f"{EMPTY} a\n",
        f"{EMPTY}  /etc/passwd\n",
        f"{EMPTY}  ../a\n",
        f"{EMPTY}  b/../../a\n",
        f"{EMPTY}  \n",
        "\n",
    ],
)
def test_a_line_that_is_none(folder: Path, text: str) -> None:
    (folder / SUMS).write_text(f"{EMPTY}  a\n{text}\n")
    with pytest.raises(HeedfulError, match=rf"{SUMS}:2 is no checksum of a file in this folder"):
        read_checksums(folder)


def test_a_file_has_one(folder: Path) -> None:
    (folder / SUMS).write_text(f"{EMPTY}  a\n{EMPTY}  a\n")
    with pytest.raises(HeedfulError, match=rf"{SUMS}:2"):
        read_checksums(folder)


def test_forgotten(folder: Path) -> None:
    forget_checksum(folder, "a")
    forget_checksum(folder, "never there")
    (folder / "a").unlink()
    check_files(folder)
