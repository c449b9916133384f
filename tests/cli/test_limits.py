"""What is too much is refused or announced, never waited for without a word, and never more than the memory."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from tests.pipeline.little import QUICK, little_settings, untrained_bundle

from heedful.cli.progress import TrainingDisplay
from heedful.errors import ConfigError
from heedful.recipe.recipe import load_recipe
from heedful.training.objective import perplexity

PAIRS = [("abc de", "cba ed"), ("fghi", "ihgf")]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_bundle(tmp_path_factory.mktemp("random") / "model", PAIRS, "search.max_extra=1")


def test_a_pair_that_is_too_long_to_score(bundle: Path, tmp_path: Path, heedful: Callable) -> None:
    """At once: its attention would need 195,000 times 195,000 numbers."""
    (tmp_path / "src").write_text("ab\n" + "abc de " * 27_900 + "\n")
    (tmp_path / "tgt").write_text("ba\ned\n")
    code, out, err = heedful("score", str(bundle), str(tmp_path / "src"), str(tmp_path / "tgt"))
    assert (code, out) == (1, "")
    assert f"{tmp_path / 'src'}:2 and {tmp_path / 'tgt'}:2: Pair 2 has 195,301 tokens, but 8,192 can be scored." in err
    assert "hint: Cut it into sentences." in err
    code, out, err = heedful("align", str(bundle), str(tmp_path / "src"), str(tmp_path / "tgt"))
    assert (code, out) == (1, "")
    assert "Pair 2 has 195,301 tokens" in err


def test_a_text_that_is_too_long_to_show(bundle: Path, heedful: Callable) -> None:
    code, out, err = heedful("inspect", str(bundle), "abc de " * 600, "--target", "cba")
    assert (code, out) == (1, "")
    assert "A text has 4,201 tokens, but 4,096 can be shown." in err


def test_a_long_text_is_announced(bundle: Path, heedful: Callable) -> None:
    outcome = heedful("inspect", str(bundle), "ab", "abc de " * 80, "--target", "ba", "--target", "cba", "--json")
    assert outcome.code == 0
    assert outcome.err == "Text 2 has 560 tokens; a weight for each two of them takes a while ...\n"


@pytest.mark.parametrize("options", [["--n-best", "100000"], ["--temperature", "1", "--n-best", "1001"]])
def test_outputs(options: list[str], bundle: Path, heedful: Callable) -> None:
    outcome = heedful("translate", str(bundle), "--text", "ab", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert "1000" in outcome.err


@pytest.mark.parametrize(
    "setting",
    [
        "training.threads=100000",
        "training.optimizer_betas=[1,1]",
        "training.optimizer_betas=[0.9,1]",
        "training.optimizer_betas=[-0.1,0.9]",
        "evaluation.bootstrap_samples=1000000000",
        "data.pairs=1000000000000",
    ],
)
def test_settings(setting: str) -> None:
    with pytest.raises(ConfigError, match=r"command line: `.*` must be (less|greater) than"):
        load_recipe(None, ["preset=character", "data.catalogue=copy", setting])


def test_a_line_that_comes_late_is_announced(tmp_path: Path, heedful: Callable) -> None:
    settings = little_settings(tmp_path / "data", *QUICK, f"run={tmp_path / 'run'}")
    code, _, err = heedful("train", *settings, "training.accumulate=3", "training.log_every=1000")
    assert code == 0, err
    wanted = "each update adds up 3 batches, and there is a line every 1,000 updates: the first after 3,000 batches"
    assert wanted in err


class TestTimeLeft:
    FACTS: ClassVar = {"loss": 2.0, "perplexity": 7.4, "learning_rate": 1e-3, "target_tokens_per_second": 900.0}

    @pytest.mark.parametrize(
        ("update", "seconds", "minutes", "shown"),
        [
            (10, 30.0, None, "update 10 of 100  loss 2.000  perplexity 7.40"),
            (10, 30.0, None, "lr 1.00e-03  900 tokens/s  30 s, about 4 min left"),
            (10, 30.0, 1.0, "30 s, about 30 s left"),  # the time is up before the updates are
            (1, 3600.0, None, "3600 s, about 99.0 h left"),
            (100, 30.0, None, "900 tokens/s  30 s\n"),
        ],
    )
    def test_shown(
        self, update: int, seconds: float, minutes: float | None, shown: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with TrainingDisplay(100, minutes) as display:
            display("train", {**self.FACTS, "update": update, "seconds": seconds})
        assert shown in capfd.readouterr().err

    def test_of_a_run_that_only_time_ends(self, capfd: pytest.CaptureFixture[str]) -> None:
        with TrainingDisplay(sys.maxsize, 5.0) as display:
            display("train", {**self.FACTS, "update": 7, "seconds": 60.0})
        err = capfd.readouterr().err
        assert err.startswith("update 7  loss")
        assert "60 s, about 4 min left" in err


class TestPerplexity:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [(1.0, "1.00"), (12345.678, "12,345.68"), (5.1e21, "over 1,000,000"), (1e304, "over 1,000,000")],
    )
    def test_shown(self, value: float, shown: str, capfd: pytest.CaptureFixture[str]) -> None:
        facts = {"update": 1, "loss": 2.0, "perplexity": value, "best": False}
        with TrainingDisplay(1, None) as display:
            display("validation", facts)
        assert f"  perplexity {shown}\n" in capfd.readouterr().err

    def test_of_a_loss(self) -> None:
        assert perplexity(0.0) == 1.0
        assert perplexity(60.0) == pytest.approx(1.1420073898e26)
        assert perplexity(1e9) == pytest.approx(1.0142320547e304)
