"""`heedful doctor`: its table, its JSON and its exit code."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from heedful.pipeline import doctor
from heedful.pipeline.doctor import Diagnosis


@pytest.fixture
def finds(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Decide what the examination finds."""

    def install(*findings: Diagnosis) -> None:
        monkeypatch.setattr(doctor, "examine", lambda folder: list(findings))

    return install


def test_text(finds: Callable, heedful: Callable) -> None:
    finds(Diagnosis("memory", "ok", "8 GB"), Diagnosis("disk", "warning", "1 GB free", "Free some space."))
    code, out, err = heedful("doctor")
    assert code == 0
    assert out == "ok       memory  8 GB\nwarning  disk    1 GB free\ndisk: Free some space.\n"
    assert "self-test" in err


def test_json(finds: Callable, heedful: Callable) -> None:
    finds(Diagnosis("disk", "warning", "1 GB free", "Free some space."))
    assert json.loads(heedful("doctor", "--json").out) == [
        {"name": "disk", "state": "warning", "value": "1 GB free", "hint": "Free some space."}
    ]


def test_error(finds: Callable, heedful: Callable) -> None:
    finds(Diagnosis("disk", "error", "0.1 GB free", "Free some space."), Diagnosis("memory", "ok", "8 GB"))
    code, out, err = heedful("doctor")
    assert code == 3
    assert "0.1 GB free" in out
    assert err.endswith("error: This machine cannot train yet: disk.\n")


def test_really(heedful: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SELF_TEST_SECONDS", 0.5)
    monkeypatch.chdir(tmp_path)
    code, out, _ = heedful("doctor", "--json")
    assert code == 0
    assert {"python", "packages", "disk", "attention", "training"} <= {found["name"] for found in json.loads(out)}
