"""`make demo` installs what the demo needs and not the development tools, quietly, and no target undoes another.

Run with a stand-in for Python that notes how it is called, so that nothing is installed.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.house.source import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")

NOTES = 'echo "$0 $*" >>"$NOTED"\n'
TOOLS = ("heedful", "ruff", "lint-imports", "pyright")
PYTHON = f"""#!/bin/sh
{NOTES}[ "$2" = venv ] || exit 0
mkdir -p .venv/bin
for tool in python {" ".join(TOOLS)}; do cp "$TOOL" ".venv/bin/$tool"; done
"""


class Checkout:
    """A folder with the Makefile, where `make` meets the stand-in."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.noted = folder, folder / "noted"
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(ROOT / name, folder / name)
        for name, text in {"python": PYTHON, "tool": f"#!/bin/sh\n{NOTES}"}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def make(self, *targets: str) -> str:
        """Run make, and return what it printed."""
        self.noted.write_text("")
        places = {"NOTED": str(self.noted), "TOOL": str(self.folder / "tool")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "TORCH_INDEX"))}
        command = ["make", f"PYTHON={self.folder / 'python'}", *targets]
        done = subprocess.run(
            command, cwd=self.folder, env={**kept, **places}, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def calls(self, of: str) -> list[str]:
        """The arguments of each call of a program since the last `make`."""
        lines = [line.split(" ", 1) for line in self.noted.read_text().splitlines()]
        return [words[1] for words in lines if Path(words[0]).name == of]

    def installed(self) -> list[str]:
        """What each call of pip installed."""
        return [call.split()[-1] for call in self.calls("python") if " install " in call]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_demo_installs_no_development_tools_and_says_one_line(checkout: Checkout) -> None:
    said = checkout.make("demo")
    assert checkout.installed() == [".[demo]"]
    assert checkout.calls("heedful") == ["demo"]
    assert len(said.splitlines()) == 1
    (install,) = [call for call in checkout.calls("python") if " install " in call]
    assert install.count("--quiet") == 2, "errors are shown, and nothing else"
    assert "--disable-pip-version-check" in install
    assert "--extra-index-url" not in install


def test_a_second_demo_installs_nothing(checkout: Checkout) -> None:
    checkout.make("demo")
    assert checkout.make("demo") == ""
    assert (checkout.installed(), checkout.calls("heedful")) == ([], ["demo"])


@pytest.mark.parametrize("target", ["test", "check", "format"])
def test_development_tools_come_on_top_of_the_demo(checkout: Checkout, target: str) -> None:
    checkout.make("demo")
    checkout.make(target)
    assert checkout.installed() == [".[dev,demo]"]
    assert [call for call in checkout.calls("python") if "venv" in call] == [], "the environment is not made anew"
    checkout.make("demo")
    assert checkout.installed() == []


def test_after_the_tests_the_demo_is_ready(checkout: Checkout) -> None:
    checkout.make("test")
    assert checkout.installed() == [".[dev,demo]"]
    checkout.make("demo")
    assert (checkout.installed(), checkout.calls("heedful")) == ([], ["demo"])


def test_both_at_once_install_one_after_the_other(checkout: Checkout) -> None:
    checkout.make("-j4", "demo", "test")
    assert checkout.installed() == [".[demo]", ".[dev,demo]"]


def test_a_changed_project_file_is_installed_anew(checkout: Checkout) -> None:
    checkout.make("demo")
    later = (checkout.folder / ".venv" / ".demo").stat().st_mtime + 10
    os.utime(checkout.folder / "pyproject.toml", (later, later))
    checkout.make("demo")
    assert checkout.installed() == [".[demo]"]


def test_torch_index_is_handed_on(checkout: Checkout) -> None:
    checkout.make("demo", "TORCH_INDEX=an-index")
    (install,) = [call for call in checkout.calls("python") if " install " in call]
    assert "--extra-index-url an-index" in install
