"""Downloads: whole, checked, resumed, and never half a file in the place of a whole one."""

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.datasets.server import Served, serving

from heedful.datasets.download import DownloadProgress, download
from heedful.errors import HeedfulError

CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as server:
        server.files["/a.gz"] = CONTENT
        yield server


def test_whole_file_with_progress(served: Served, tmp_path: Path) -> None:
    seen: list[DownloadProgress] = []
    download(f"{served.url}/a.gz", tmp_path / "deep" / "a.gz", SHA256, seen.append)
    assert (tmp_path / "deep" / "a.gz").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.gz"]
    assert seen[-1] == DownloadProgress("a.gz", len(CONTENT), len(CONTENT))
    assert [step.done for step in seen] == sorted(step.done for step in seen)


def test_what_is_there_is_not_fetched_again(served: Served, tmp_path: Path) -> None:
    for checksum in (SHA256, SHA256, None):
        download(f"{served.url}/a.gz", tmp_path / "a.gz", checksum)
    assert len(served.requests) == 1


def test_a_file_with_another_checksum_is_replaced(served: Served, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(b"old")
    download(f"{served.url}/a.gz", tmp_path / "a.gz", SHA256)
    assert (tmp_path / "a.gz").read_bytes() == CONTENT


class TestBrokenOff:
    def broken(self, served: Served, path: Path, after: int) -> HeedfulError:
        served.break_after = after
        with pytest.raises(HeedfulError, match="the connection broke") as caught:
            download(f"{served.url}/a.gz", path, SHA256)
        return caught.value

    def test_goes_on_where_it_stopped(self, served: Served, tmp_path: Path) -> None:
        error = self.broken(served, tmp_path / "a.gz", after=100_000)
        assert error.hint == "Run the command again: it goes on where it stopped."
        assert not (tmp_path / "a.gz").exists()
        have = (tmp_path / "a.gz.part").stat().st_size
        download(f"{served.url}/a.gz", tmp_path / "a.gz", SHA256)
        assert (tmp_path / "a.gz").read_bytes() == CONTENT
        assert served.requests[-1] == ("/a.gz", f"bytes={have}-")

    def test_starts_again_where_the_server_cannot_resume(self, served: Served, tmp_path: Path) -> None:
        self.broken(served, tmp_path / "a.gz", after=100_000)
        served.ranges = False
        download(f"{served.url}/a.gz", tmp_path / "a.gz", SHA256)
        assert (tmp_path / "a.gz").read_bytes() == CONTENT

    def test_starts_again_where_the_part_is_of_something_longer(self, served: Served, tmp_path: Path) -> None:
        (tmp_path / "a.gz.part").write_bytes(CONTENT + b"more")
        download(f"{served.url}/a.gz", tmp_path / "a.gz", SHA256)
        assert (tmp_path / "a.gz").read_bytes() == CONTENT


class TestRefusals:
    def test_wrong_checksum_leaves_nothing(self, served: Served, tmp_path: Path) -> None:
        served.files["/a.gz"] = CONTENT[:-1]
        with pytest.raises(HeedfulError, match="the checksum is wrong: SHA-256 "):
            download(f"{served.url}/a.gz", tmp_path / "a.gz", SHA256)
        assert list(tmp_path.iterdir()) == []

    def test_no_such_file(self, served: Served, tmp_path: Path) -> None:
        with pytest.raises(HeedfulError, match="the server answered 404 Not Found"):
            download(f"{served.url}/b.gz", tmp_path / "b.gz", None)

    def test_nobody_answers(self, tmp_path: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with pytest.raises(HeedfulError, match=r"Cannot reach http://127\.0\.0\.1:") as caught:
            download(f"http://127.0.0.1:{port}/a", tmp_path / "a", None)
        assert "local copy" in (caught.value.hint or "")

    def test_cannot_write(self, served: Served, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(HeedfulError, match="could not be written"):
            download(f"{served.url}/a.gz", tmp_path / "file" / "a.gz", SHA256)
