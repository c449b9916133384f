"""What a newcomer gets wrong: one clear message with a way out, the right exit code, no traceback, and nothing lost."""

import errno
import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.conftest import Outcome
from tests.pipeline.little import QUICK, little_run, little_settings

from heedful.records.run import Run


class Newcomer(NamedTuple):
    """Somebody with data, settings that are right, and a run directory that is not there yet."""

    data: Path
    run: Path
    settings: list[str]

    def recipe(self, text: str) -> str:
        """A recipe file that says this beside the right settings, and its path."""
        path = self.data.parent / "recipe.toml"
        path.write_text(text)
        return str(path)


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    run = tmp_path / "run"
    return Newcomer(tmp_path / "data", run, little_settings(tmp_path / "data", *QUICK, f"run={run}"))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(outcome: Outcome, code: int, *texts: str) -> None:
    """One error with one hint, this exit code, and these texts; nothing on standard output."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert sum(line.startswith("error: ") for line in lines) == 1, lines
    assert lines[-1].startswith("hint: "), lines  # warnings, with their own hints, may come before
    assert "Traceback" not in outcome.err
    assert "fault of heedful" not in outcome.err
    for text in texts:
        assert text in outcome.err


class TestData:
    def test_missing_file(self, newcomer: Newcomer, heedful: Callable) -> None:
        before = contents(newcomer.data)
        outcome = heedful("train", *newcomer.settings, f"data.train=['{newcomer.data}/trian.tsv']")
        refused(outcome, 2, f"There is no file {newcomer.data}/trian.tsv", f"Did you mean {newcomer.data}/train.tsv")
        assert contents(newcomer.data) == before

    def test_after_a_mistake_the_same_command_works(self, newcomer: Newcomer, heedful: Callable) -> None:
        """A run directory in which nothing was trained is no obstacle, whatever the recipe was."""
        assert heedful("train", *newcomer.settings, f"data.train=['{newcomer.data}/trian.tsv']").code == 2
        assert heedful("train", *newcomer.settings, "data.max_length=1").code == 1
        assert (
            heedful("train", *newcomer.settings, "tokenizer.source.kind=characters", "training.max_updates=1").code == 0
        )
        assert Run.open(newcomer.run).state() == "complete"
        assert len((newcomer.run / "data" / "tokenizer.joint.vocab").read_text().splitlines()) == 4 + 26 + 1

    def test_files_of_different_length(self, newcomer: Newcomer, heedful: Callable) -> None:
        """The target files of train and dev, swapped."""
        for split, lines in (("train", 30), ("dev", 10)):
            for side in ("source", "target"):
                (newcomer.data / f"{split}.{side}").write_text("a b\n" * lines)
        train = f"data.train=['{newcomer.data}/train.source', '{newcomer.data}/dev.target']"
        outcome = heedful("train", *newcomer.settings, train)
        refused(outcome, 1, "train.source has 30 lines but", "dev.target has 10", "Line n of one file must translate")
        assert not (newcomer.run / "checkpoints").exists()

    def test_empty_corpus(self, newcomer: Newcomer, heedful: Callable) -> None:
        (newcomer.data / "train.tsv").write_text("")
        refused(heedful("train", *newcomer.settings), 1, f"There are no pairs in {newcomer.data}/train.tsv")

    def test_only_blank_lines(self, newcomer: Newcomer, heedful: Callable) -> None:
        for side in ("source", "target"):
            (newcomer.data / f"blank.{side}").write_text("\n" * 5)
        train = f"data.train=['{newcomer.data}/blank.source', '{newcomer.data}/blank.target']"
        refused(heedful("train", *newcomer.settings, train), 1, "every line is empty")

    def test_one_over_long_line(self, newcomer: Newcomer, heedful: Callable) -> None:
        """It is left out, which is said with its place, and the rest is trained on."""
        lines = (newcomer.data / "train.tsv").read_text().splitlines()
        long = "a " * 300
        (newcomer.data / "train.tsv").write_text("\n".join([*lines[:7], f"{long}\t{long}", *lines[7:]]) + "\n")
        outcome = heedful("train", *newcomer.settings)
        assert outcome.code == 0
        assert "warning: train:8: the first of the pairs that are left out: of 201 pairs 1 too long." in outcome.err
        assert "hint: data.max_length is 256 tokens" in outcome.err

    def test_every_line_over_long(self, newcomer: Newcomer, heedful: Callable) -> None:
        refused(
            heedful("train", *newcomer.settings, "data.max_length=1"), 1, "No training pair is left", "200 too long"
        )

    def test_binary_file(self, newcomer: Newcomer, heedful: Callable) -> None:
        (newcomer.data / "train.tsv").write_bytes(b"\x7fELF\x02\x01\x01\0\0\0")
        place = f"{newcomer.data}/train.tsv:1: this is a binary file"
        refused(heedful("train", *newcomer.settings), 1, place, "Is it the right file?")

    def test_dev_in_train(self, newcomer: Newcomer, heedful: Callable) -> None:
        dev = (newcomer.data / "dev.tsv").read_text()
        with (newcomer.data / "train.tsv").open("a") as file:
            file.write(dev)
        outcome = heedful("train", *newcomer.settings)
        refused(outcome, 3, "12 of 12 pairs of dev (100.0%)", "train:201", "remove them from train")
        assert not (newcomer.run / "checkpoints").exists()
        assert heedful("train", *newcomer.settings, "data.allow_overlap=true").code == 0

    def test_brackets_in_the_data_are_no_markup(self, newcomer: Newcomer, heedful: Callable) -> None:
        """A warning shows examples from the data, which may look like the markup of the terminal's library."""
        with (newcomer.data / "train.tsv").open("a") as file:
            file.write(f"[/INST] :smile:\t{'long ' * 60}\n")
        outcome = heedful("train", *newcomer.settings)
        assert outcome.code == 0, outcome.err
        assert "[/INST] :smile:" in outcome.err


class TestRecipe:
    @pytest.mark.parametrize(
        ("text", "texts"),
        [
            ("max_update = 5", ("line 5: unknown key `training.max_update`", "Did you mean `training.max_updates`?")),
            (
                'max_updates = "many"',
                ("line 5: `training.max_updates` must be a valid integer, but is 'many'", "heedful init"),
            ),
            ("clip_norm = true", ("line 5: `training.clip_norm` must be", "largest L2 norm")),
            ('schedule = "linaer"', ("line 5: `training.schedule`", "Did you mean `linear`?")),
            ("max_updates = many", ("recipe.toml: ", "line 5", "Strings need quotes")),
        ],
    )
    def test_wrong_line(self, text: str, texts: tuple[str, ...], newcomer: Newcomer, heedful: Callable) -> None:
        recipe = newcomer.recipe(f'preset = "character"\n[data]\ncatalogue = "reverse"\n[training]\n{text}\n')
        refused(heedful("train", recipe, f"run={newcomer.run}"), 2, *texts)
        assert not newcomer.run.exists()

    @pytest.mark.parametrize(
        ("changes", "code", "texts"),
        [
            (["seed", "3"], 2, ("`seed` is not of the form key=value", "For example")),
            (["preset=charcter"], 2, ("Unknown preset `charcter`", "Did you mean `character`?")),
            (
                ["data.catalogue=cmudit", "data.train=[]", "data.dev=[]", "data.test=[]"],
                2,
                ("cmudit", "Did you mean cmudict"),
            ),
            (
                ["tokenizer.source.kind=sentencepiece", "tokenizer.source.vocab_size=5000"],
                2,
                ("5000", "Set it to at most"),
            ),
            (["model.positions=learned", "model.max_positions=12"], 2, ("max_positions is 12", "to at least 17")),
        ],
    )
    def test_wrong_setting(
        self, changes: list[str], code: int, texts: tuple[str, ...], newcomer: Newcomer, heedful: Callable
    ) -> None:
        refused(heedful("train", *newcomer.settings, *changes), code, *texts)
        assert not (newcomer.run / "checkpoints").exists()

    @pytest.mark.parametrize(
        ("changes", "texts"),
        [
            (["training.select=bleu"], ("command line: `training.select` must be one of loss, exact, per", "'bleu'")),
            (["tokenizer.joint=false"], ("`tokenizer.joint` is false", 'set model.tie = "decoder"')),
            (["model.n_heads=3"], ("`n_heads` must divide `d_model` (16), but is 3",)),
            (["training.average_last=9"], ("average_last (9) cannot exceed keep_last (3)",)),
            (["data.dev=[]"], ("`dev` is required beside `train`", "heedful data split")),
        ],
    )
    def test_settings_that_do_not_go_together(
        self, changes: list[str], texts: tuple[str, ...], newcomer: Newcomer, heedful: Callable
    ) -> None:
        """The message itself says the way out."""
        outcome = heedful("train", *newcomer.settings, *changes)
        assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (2, "", 1)
        for text in texts:
            assert text in outcome.err
        assert not newcomer.run.exists()

    def test_recipe_is_a_folder(self, newcomer: Newcomer, heedful: Callable) -> None:
        refused(heedful("train", str(newcomer.data)), 2, "is a directory", "Name the .toml file inside it")

    def test_recipe_is_missing(self, newcomer: Newcomer, heedful: Callable) -> None:
        refused(heedful("train", str(newcomer.data / "recipe.toml")), 2, "No configuration file at", "heedful init")

    def test_recipe_is_the_name_of_a_preset(self, heedful: Callable) -> None:
        refused(
            heedful("train", "multi30k-tiny"), 2, "multi30k-tiny is a preset", "heedful init --preset multi30k-tiny"
        )

    def test_options_that_exclude_each_other(self, newcomer: Newcomer, heedful: Callable) -> None:
        outcome = heedful("train", *newcomer.settings, "--dry-run", "--overfit", "3")
        refused(outcome, 2, "--dry-run and --overfit exclude each other")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A finished run that a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "finished"))


class TestRunDirectory:
    def test_of_another_recipe(self, run: Path, heedful: Callable) -> None:
        before = contents(run)
        outcome = heedful("train", "--resume", str(run), "seed=2", "model.dropout=0.3")
        refused(
            outcome, 2, "another configuration", "  seed: 1 -> 2", "  model.dropout: 0.1 -> 0.3", "nothing was changed"
        )
        assert contents(run) == before

    def test_again_without_resume(self, run: Path, newcomer: Newcomer, heedful: Callable) -> None:
        before = contents(run)
        refused(heedful("train", *newcomer.settings, f"run={run}"), 2, "holds a run already", f"--resume {run}")
        refused(heedful("train", str(run)), 2, "is a run", f"heedful train --resume {run}")
        assert contents(run) == before

    def test_of_somebody_else(self, newcomer: Newcomer, heedful: Callable) -> None:
        newcomer.run.mkdir()
        (newcomer.run / "thesis.txt").write_text("mine")
        refused(heedful("train", *newcomer.settings), 2, "not empty and is no run directory", "thesis.txt")
        assert contents(newcomer.run) == {str(newcomer.run / "thesis.txt"): b"mine"}

    def test_two_at_once(self, run: Path, heedful: Callable) -> None:
        with Run.open(run):
            refused(heedful("train", "--resume", str(run)), 1, f"is in use by process {os.getpid()}")

    def test_resume_without_run(self, newcomer: Newcomer, heedful: Callable) -> None:
        refused(heedful("train", *newcomer.settings, "--resume"), 2, "holds no run to resume", "Leave out --resume")
        refused(heedful("train", str(newcomer.data), "--resume"), 2, "holds no run to resume", "heedful runs list")
        refused(heedful("train", "nowhere", "--resume"), 2, "There is no nowhere to resume", "heedful runs list")


class TestDisk:
    def test_too_little_before_the_first_update(
        self, newcomer: Newcomer, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = shutil.disk_usage(newcomer.data)
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=1000))
        outcome = heedful("train", *newcomer.settings)
        refused(outcome, 2, f"{newcomer.run}: 0 MB are free", "Free some space")
        assert not (newcomer.run / "checkpoints").exists()

    @pytest.mark.parametrize(
        ("place", "nth", "text"),
        [
            ("/train/.pairs.arrow", 1, "The disk is full"),
            ("checkpoints/.update-00000001", 2, "checkpoints could not be written"),
            ("checkpoints/.update-00000002", 3, "checkpoints could not be written"),
            ("/.commit.", 6, "/model could not be written"),
            ("/.commit.", 23, "errors.jsonl could not be written"),
        ],
    )
    def test_full_in_the_middle(
        self,
        place: str,
        nth: int,
        text: str,
        newcomer: Newcomer,
        heedful: Callable,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """What was written stays; with room again, the run goes on and ends complete."""
        seen = [0]
        fsync = os.fsync

        def full(handle: int) -> None:
            seen[0] += place in os.readlink(f"/proc/self/fd/{handle}")
            if place in os.readlink(f"/proc/self/fd/{handle}") and seen[0] == nth:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(handle)

        before = contents(newcomer.data)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            outcome = heedful("train", *newcomer.settings)
        assert seen[0] == nth
        refused(outcome, 1, text, "The disk is full", "ree some space", f"heedful train --resume {newcomer.run}")
        assert contents(newcomer.data) == before
        assert not list(newcomer.run.rglob("*.part*"))
        assert heedful("train", *newcomer.settings, "--resume").code == 0
        assert Run.open(newcomer.run).state() == "complete"


class TestUse:
    def test_no_bundle(self, newcomer: Newcomer, heedful: Callable) -> None:
        source = str(newcomer.data / "test.tsv")
        refused(heedful("translate", str(newcomer.data), source), 2, "neither a bundle nor a run", "bundle.toml")
        refused(heedful("translate", str(newcomer.run), source), 2, f"There is no {newcomer.run}", "run directory")

    def test_run_without_model(self, run: Path, newcomer: Newcomer, heedful: Callable) -> None:
        for name in ("model", "checkpoints"):
            shutil.rmtree(run / name)
        outcome = heedful("translate", str(run), str(newcomer.data / "test.tsv"))
        refused(outcome, 1, "has no model yet", f"heedful train --resume {run}")

    @pytest.mark.parametrize(
        ("options", "texts"),
        [
            (["--n-best", "5", "--beam", "2"], ("--n-best 5", "Use --beam 5")),
            (["--temperature", "1", "--top-p", "2"], ("`search.top_p` must be less than or equal to 1, but is 2.0",)),
            (["--temperature", "0"], ("`search.temperature` must be greater than or equal to 0.01, but is 0.0",)),
        ],
    )
    def test_wrong_search(self, options: list[str], texts: tuple[str, ...], run: Path, heedful: Callable) -> None:
        refused(heedful("translate", str(run), str(run / "log.jsonl"), *options), 2, *texts)

    def test_missing_input(self, run: Path, heedful: Callable) -> None:
        refused(heedful("translate", str(run), "no-such-file"), 2, "There is no file no-such-file", "standard input")
        refused(heedful("translate", str(run), str(run)), 2, "is a directory", "Name a text file")

    def test_both_from_standard_input(self, run: Path, heedful: Callable) -> None:
        refused(heedful("score", str(run), "-", "-"), 2, "Standard input can stand for one file only")

    def test_more_checkpoints_than_there_are(self, run: Path, heedful: Callable) -> None:
        before = contents(run)
        refused(heedful("average", str(run), "--last", "9"), 2, "2 validated checkpoints, but 9", "keep_last")
        assert contents(run) == before

    def test_nothing_to_translate(self, run: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        assert heedful("translate", str(run)) == (0, "", "")
