"""What `heedful doctor` finds, with each kind of trouble brought about on purpose."""

import shutil
from collections import namedtuple
from importlib import metadata
from pathlib import Path

import pytest
import torch

from heedful.pipeline import doctor, selftest
from heedful.pipeline.doctor import Diagnosis, examine

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A self-test of half a second."""
    monkeypatch.setattr(doctor, "SELF_TEST_SECONDS", 0.5)


def finding(name: str, folder: Path) -> Diagnosis:
    return next(finding for finding in examine(folder) if finding.name == name)


def test_this_machine_can_train(tmp_path: Path) -> None:
    findings = examine(tmp_path)
    assert [f for f in findings if f.state == "error"] == []
    assert len({f.name for f in findings}) == len(findings)
    assert next(f for f in findings if f.name == "packages").value.startswith("heedful ")
    assert list(tmp_path.iterdir()) == []


def test_more_threads_than_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    monkeypatch.setattr(doctor, "usable_cores", lambda: 2)
    found = finding("threads", tmp_path)
    assert (found.state, found.value) == ("warning", "64 on 2 cores")
    assert "training.threads=2" in str(found.hint)


@pytest.mark.parametrize(("free", "state"), [(3e9, "ok"), (1e9, "warning"), (1e8, "error")])
def test_disk(free: float, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(1e12, 1e12 - free, free))
    assert finding("disk", tmp_path).state == state


def test_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "memory_gb", lambda: 1.0)
    found = finding("memory", tmp_path)
    assert (found.state, found.value) == ("warning", "1.0 GB")


def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    found = finding("writing", tmp_path)
    assert (found.state, found.value) == ("error", "Permission denied")


def test_no_demo_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "version", absent)
    found = doctor._demo_data()
    assert found.state == "warning"
    assert "heedful[demo]" in str(found.hint)


def test_wrong_attention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "paths_agree", lambda: 0.5)
    assert finding("attention", tmp_path).state == "error"


def test_training_that_does_not_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "train_briefly", lambda seconds: selftest.ShortTraining(3.0, 2.9, 5.0, 1000.0))
    found = finding("training", tmp_path)
    assert found.state == "error"
    assert "loss 3.00 -> 2.90 in 5.0 s, 1,000 target tokens/s" in found.value


def test_training_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(seconds: float) -> None:
        raise RuntimeError("no kernel\nand a long story")

    monkeypatch.setattr(doctor, "train_briefly", fail)
    assert finding("training", tmp_path).value == "no kernel"


def test_self_test_leaves_the_random_state_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    selftest.train_briefly(0.1)
    selftest.paths_agree()
    assert torch.equal(torch.rand(1), expected)


def test_self_test_learns() -> None:
    trained = selftest.train_briefly(2.0)
    assert trained.last_loss < 0.9 * trained.first_loss
    assert trained.seconds >= 2.0


@pytest.mark.parametrize(("encoding", "state"), [("UTF-8", "ok"), ("ISO-8859-1", "warning"), ("cp1252", "warning")])
def test_the_terminal(encoding: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it shows is the locale's, whatever heedful writes."""
    monkeypatch.setattr("locale.getencoding", lambda: encoding)
    found = doctor._terminal()
    assert (found.state, found.value) == (state, encoding.lower())
