"""Files are whole or absent, and what stops their writing is said with its way out."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from heedful.errors import HeedfulError
from heedful.records.files import append_line, read_json_lines, to_json, write_lines


def failing(kind: type[Exception]) -> Iterator[str]:
    yield "first"
    raise kind


class TestWriteLines:
    def test_lines_end_in_newlines(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "new" / "file", ["a", "b\u2028c", ""])
        assert (tmp_path / "new" / "file").read_bytes() == "a\nb\u2028c\n\n".encode()

    def test_failure_in_the_middle_keeps_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        write_lines(path, ["old"])
        with pytest.raises(KeyboardInterrupt):
            write_lines(path, failing(KeyboardInterrupt))  # type: ignore[arg-type]
        assert path.read_text() == "old\n"
        assert [left.name for left in tmp_path.iterdir()] == ["file"]

    def test_full_disk_is_an_error_and_keeps_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "file"
        write_lines(path, ["old"])

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(HeedfulError, match="The disk is full") as raised:
            write_lines(path, ["new"])
        assert "Free some space" in (raised.value.hint or "")
        assert path.read_text() == "old\n"
        assert [left.name for left in tmp_path.iterdir()] == ["file"]

    def test_forbidden_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def forbidden(source: str, target: Path) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(os, "replace", forbidden)
        with pytest.raises(HeedfulError, match="may not be written") as raised:
            write_lines(tmp_path / "file", ["new"])
        assert raised.value.hint == "Choose a folder that belongs to you."

    def test_file_where_a_folder_should_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(HeedfulError, match="could not be written"):
            write_lines(tmp_path / "file" / "inner", ["x"])

    def test_permissions_are_those_of_an_ordinary_new_file(self, tmp_path: Path) -> None:
        (tmp_path / "ordinary").write_text("")
        write_lines(tmp_path / "ours", ["x"])
        assert (tmp_path / "ours").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full is Linux's")
def test_appending_to_a_full_disk_is_an_error() -> None:
    with pytest.raises(HeedfulError, match="The disk is full"):
        append_line(Path("/dev/full"), "x")


class TestJsonLines:
    def test_round_trip(self, tmp_path: Path) -> None:
        records = [{"text": "a\nb\u2028c ⁇", "list": [1, 2.5, None, True]}, {}]
        write_lines(tmp_path / "f", map(to_json, records))
        assert list(read_json_lines(tmp_path / "f")) == records

    def test_something_that_is_no_object(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_text("{}\n[1]\n")
        with pytest.raises(HeedfulError, match="f:2 is no JSON object"):
            list(read_json_lines(tmp_path / "f"))

    @pytest.mark.parametrize("value", ["[" * 5000, "9" * 5000])
    def test_what_nobody_can_hold(self, value: str, tmp_path: Path) -> None:
        (tmp_path / "f").write_text(f'{{}}\n{{"a": {value}}}\n')
        with pytest.raises(HeedfulError, match="f:2 is no JSON"):
            list(read_json_lines(tmp_path / "f"))
