"""Running the command inside the test's own process."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from heedful.cli.app import app


class Outcome(NamedTuple):
    """What a command line came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def heedful(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run `heedful ARGUMENTS...` and return its exit code and what it wrote."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            app(args=list(arguments), prog_name="heedful")
        code = stop.value.code
        assert isinstance(code, int)
        return Outcome(code, *capfd.readouterr())

    return run
