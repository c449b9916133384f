"""The frame of the command line: the list of verbs, laziness, error messages and exit codes."""

import errno
import importlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import typer

import heedful as package
from heedful.cli import app as frame
from heedful.errors import CheckFailed, ConfigError, HeedfulError, Interrupted

HEAVY = ("torch", "numpy", "pydantic", "matplotlib", "sentencepiece", "pyarrow")


class TestHelp:
    def test_imports_nothing_heavy(self) -> None:
        script = (
            "import sys\n"
            "sys.argv = ['heedful', '--help']\n"
            "from heedful.cli.app import main\n"
            "try:\n    main()\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
            f"print([name for name in {HEAVY} if name in sys.modules])\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"

    def test_answers_at_once(self) -> None:
        """In less than half a second of work; the clock on the wall would measure what else the machine does."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "heedful.cli.app", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5

    def test_lists_every_verb_with_its_line(self, heedful: Callable) -> None:
        outcome = heedful("--help")
        assert outcome.code == 0
        words = " ".join(outcome.out.replace("│", " ").split())
        for verb in frame.VERBS:
            assert f" {verb.name} {verb.summary}" in words

    def test_version(self, heedful: Callable) -> None:
        assert heedful("--version") == (0, f"heedful {package.__version__}\n", "")

    def test_no_verb_shows_the_help(self, heedful: Callable) -> None:
        outcome = heedful()
        assert outcome.code == 2
        assert "Usage: heedful" in outcome.out + outcome.err

    def test_unknown_verb(self, heedful: Callable) -> None:
        outcome = heedful("trian")
        assert outcome.code == 2
        assert outcome.out == ""
        assert "No such command 'trian'. Did you mean 'train'?" in outcome.err


@pytest.mark.parametrize("verb", frame.VERBS, ids=lambda verb: verb.name)
class TestEveryVerb:
    def test_has_a_module_of_its_own(self, verb: frame.Verb) -> None:
        module = importlib.import_module(f"heedful.cli.{verb.python_name}")
        found = vars(module)["app"] if verb.is_group else vars(module)[verb.python_name]
        assert isinstance(found, typer.Typer) if verb.is_group else callable(found)

    def test_help(self, verb: frame.Verb, heedful: Callable) -> None:
        outcome = heedful(verb.name, "--help")
        assert outcome.code == 0
        assert f"Usage: heedful {verb.name}" in outcome.out

    def test_is_light(self, verb: frame.Verb) -> None:
        script = f"import sys, heedful.cli.{verb.python_name}\nprint('torch' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == "False\n"


def test_no_verb_module_is_unlisted() -> None:
    """A file of cli that defines a function of its own name is a verb, and is in the table."""
    folder = Path(frame.__file__).parent
    listed = {verb.python_name for verb in frame.VERBS}
    for path in folder.glob("*.py"):
        if path.stem not in listed and f"def {path.stem}(" in path.read_text():
            pytest.fail(f"{path.name} looks like a verb, but is not in VERBS")


class TestErrors:
    @pytest.fixture
    def failing(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
        """Make `heedful doctor` raise an error."""

        def install(error: BaseException) -> None:
            def doctor() -> None:
                """Fail."""
                raise error

            module = ModuleType("heedful.cli.doctor")
            module.doctor = doctor  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, "heedful.cli.doctor", module)

        return install

    @pytest.mark.parametrize(
        ("error", "code"),
        [(HeedfulError("No."), 1), (ConfigError("No."), 2), (CheckFailed("No."), 3), (Interrupted("No."), 130)],
    )
    def test_exit_code_comes_from_the_class(
        self, error: HeedfulError, code: int, failing: Callable, heedful: Callable
    ) -> None:
        failing(error)
        assert heedful("doctor") == (code, "", "error: No.\n")

    def test_hint(self, failing: Callable, heedful: Callable) -> None:
        failing(ConfigError("No [bold] luck.", hint="Try `a[0]`."))
        assert heedful("doctor") == (2, "", "error: No [bold] luck.\nhint: Try `a[0]`.\n")

    def test_full_disk(self, failing: Callable, heedful: Callable) -> None:
        failing(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "model.safetensors"))
        outcome = heedful("doctor")
        assert outcome.code == 1
        assert outcome.err == (
            "error: No space left on device: model.safetensors.\n"
            "hint: Free some space and run the same command again.\n"
        )

    def test_other_refusals_of_the_system(self, failing: Callable, heedful: Callable) -> None:
        failing(PermissionError(errno.EACCES, "Permission denied", "runs"))
        hint = "hint: Choose what belongs to you, or have its permissions changed.\n"
        assert heedful("doctor") == (1, "", "error: Permission denied: runs.\n" + hint)

    def test_a_name_that_is_no_text(self, failing: Callable, heedful: Callable) -> None:
        try:
            ("x" * 99 + "r\udcff.toml").encode()
        except UnicodeEncodeError as error:
            failing(error)
        code, out, err = heedful("doctor")
        assert (code, out) == (2, "")
        assert err.startswith(f"error: '{'x' * 19}r\\udcff.toml' is no UTF-8 text (U+DCFF).\nhint: ")

    def test_fault_of_ours(self, failing: Callable, heedful: Callable) -> None:
        failing(KeyError("weights"))
        code, out, err = heedful("doctor")
        assert (code, out) == (1, "")
        assert err.splitlines()[0] == "error: KeyError: 'weights'"
        assert "--traceback" in err
        assert "Traceback" not in err

    def test_traceback_on_demand(self, failing: Callable, heedful: Callable) -> None:
        failing(KeyError("weights"))
        code, _, err = heedful("--traceback", "doctor")
        assert code == 1
        assert "Traceback (most recent call last)" in err
        assert "error: KeyError: 'weights'" in err

    def test_interruption(self, failing: Callable, heedful: Callable) -> None:
        failing(KeyboardInterrupt())
        assert heedful("doctor").code == 130

    def test_wrong_option(self, heedful: Callable) -> None:
        outcome = heedful("config", "presets", "--jsn")
        assert outcome.code == 2
        assert outcome.out == ""
        assert "--jsn" in outcome.err

    def test_reader_that_stops_reading(self) -> None:
        """`heedful config show paper-base | head -1` ends without a traceback."""
        command = f"{sys.executable} -m heedful.cli.app config show paper-base | head -1"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("preset")
        assert "Traceback" not in done.stderr
