"""Files that somebody named: devices and pipes are written in place, links are followed, permissions stay."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from heedful.errors import CannotWrite
from heedful.text.output_files import write_output, writing


def test_a_new_file_and_an_old_one(tmp_path: Path) -> None:
    for content in (b"one\r\n", b"two"):
        write_output(tmp_path / "deep" / "a", content)
        assert (tmp_path / "deep" / "a").read_bytes() == content
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_permissions_stay(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_output(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def write_half(path: Path) -> None:
    with writing(path) as file:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with pytest.raises(CannotWrite):
        write_half(path)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"old", 0o600)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_target_is_written(there: bool, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    target, link, chain = tmp_path / "target" / "a", tmp_path / "link", tmp_path / "chain"
    if there:
        target.write_bytes(b"old")
        target.chmod(0o600)
    link.symlink_to("target/a")
    chain.symlink_to(link)
    write_output(chain, b"new")
    assert target.read_bytes() == b"new"
    assert not target.is_symlink()
    assert (link.is_symlink(), chain.is_symlink()) == (True, True)
    assert not there or stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE)
    write_output(tmp_path / "pipe", b"text\n")
    assert reader.communicate()[0] == b"text\n"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_device(tmp_path: Path) -> None:
    """A link to it, so that a fault cannot harm the machine."""
    (tmp_path / "null").symlink_to("/dev/null")
    write_output(tmp_path / "null", b"text")
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(CannotWrite, match="The disk is full"):
        write_output(tmp_path / "full", b"text")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_what_the_shell_has_open_is_added_to(name: str, tmp_path: Path) -> None:
    script = (
        f"from heedful.text.output_files import write_output as w; from pathlib import Path; w(Path('{name}'), b'b')"
    )
    (tmp_path / "log").write_bytes(b"a")
    with (tmp_path / "log").open("ab") as log:
        subprocess.run([sys.executable, "-c", script], stdout=log, check=True)
    assert (tmp_path / "log").read_bytes() == b"ab"


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(CannotWrite):
        write_output(tmp_path / "folder", b"text")
    assert (tmp_path / "folder").is_dir()
