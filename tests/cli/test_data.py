"""`heedful data`: what it prints, where, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heedful.datasets.synthetic import task_pairs
from heedful.recipe import splits
from heedful.recipe.tables import TASKS
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

Heedful = Callable[..., Any]


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    """Two aligned files of 120 pairs."""
    pairs = list(task_pairs(TASKS["lexicon"], 1, "train", 120))
    for name, side in (("a.en", 0), ("a.de", 1)):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in pairs))
    return [str(tmp_path / "a.en"), str(tmp_path / "a.de")]


def test_list(heedful: Heedful) -> None:
    outcome = heedful("data", "list")
    assert outcome.code == 0
    assert "multi30k-en-de" in outcome.out
    entries = json.loads(heedful("data", "list", "--json").out)
    assert len(entries) == len(splits.names())
    assert set(entries[0]) == {
        "name",
        "description",
        "licence",
        "source_language",
        "target_language",
        "splits",
        "group",
        "form",
    }


class TestGet:
    def test_local_copy(self, heedful: Heedful, shared_data: Path) -> None:
        outcome = heedful("data", "get", "multi30k-en-de", "--from", str(shared_data / "multi30k"))
        assert outcome.code == 0
        assert len(outcome.out.splitlines()) == 11
        assert all(Path(line).is_file() for line in outcome.out.splitlines())
        assert "non-commercial" in outcome.err

    def test_written_as_tables(self, heedful: Heedful, tmp_path: Path) -> None:
        outcome = heedful("data", "get", "sort", "--pairs", "30", "--to", str(tmp_path), "--json")
        files = json.loads(outcome.out)["files"]
        assert [Path(file).name for file in files] == ["train.tsv", "dev.tsv", "test.tsv"]
        assert Path(files[0]).read_text().count("\n") == 31

    def test_a_file_that_is_there_is_seen_before_anything_is_fetched(self, heedful: Heedful, tmp_path: Path) -> None:
        (tmp_path / "dev.tsv").write_text("mine")
        outcome = heedful("data", "get", "multi30k-en-de", "--base-url", "file:///nowhere", "--to", str(tmp_path))
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"error: {tmp_path}/dev.tsv exists already.\n")

    def test_unknown(self, heedful: Heedful) -> None:
        outcome = heedful("data", "get", "multi30")
        assert outcome.code == 2
        assert "error: There is no data set `multi30`." in outcome.err
        assert "hint: Did you mean multi30k-" in outcome.err


class TestCheck:
    def test_nothing_wrong(self, heedful: Heedful, corpus: list[str]) -> None:
        outcome = heedful("data", "check", *corpus)
        assert (outcome.code, outcome.out) == (0, "")
        assert "No errors, 0 warning(s)." in outcome.err
        assert json.loads(heedful("data", "check", *corpus, "--json").out) == []

    def test_dev_overlaps_train(self, heedful: Heedful, corpus: list[str]) -> None:
        outcome = heedful("data", "check", *corpus, "--dev", corpus[0], "--dev", corpus[1], "--json")
        assert outcome.code == 3
        assert "error: 1 error(s) and 0 warning(s)" in outcome.err
        (finding,) = json.loads(outcome.out)
        assert (finding["severity"], finding["kind"]) == ("error", "overlap")
        plain = heedful("data", "check", *corpus, "--dev", corpus[0], "--dev", corpus[1]).out
        assert plain.startswith("error: dev:1, 2, 3, ...: In the training data too: 120 of 120 pairs of dev (100.0%)")
        assert "\n  hint: " in plain

    def test_files_of_different_length(self, heedful: Heedful, corpus: list[str]) -> None:
        with Path(corpus[0]).open("a") as file:
            file.write("one more\n")
        outcome = heedful("data", "check", *corpus)
        assert outcome.code == 3
        assert "has 121 lines but" in outcome.out

    def test_missing_file(self, heedful: Heedful, corpus: list[str]) -> None:
        outcome = heedful("data", "check", corpus[0] + "n", corpus[1])
        assert (outcome.code, outcome.out) == (2, "")
        assert "error: There is no file" in outcome.err
        assert f"hint: Did you mean {corpus[0]}" in outcome.err

    def test_recipe(self, heedful: Heedful, corpus: list[str], tmp_path: Path) -> None:
        recipe = tmp_path / "recipe.toml"
        recipe.write_text(
            'preset = "character"\n[data]\nmax_length = 10\n'
            f"train = {json.dumps(corpus)}\ndev = {json.dumps(corpus)}\nallow_overlap = true\n"
        )
        outcome = heedful("data", "check", str(recipe), "--json")
        assert outcome.code == 0
        assert {finding["kind"] for finding in json.loads(outcome.out)} == {"overlap", "too long"}

    def test_near_duplicates(self, heedful: Heedful, corpus: list[str], tmp_path: Path) -> None:
        first = Path(corpus[0]).read_text().splitlines()
        longest = max(first, key=len)
        (tmp_path / "dev.tsv").write_text(f"{longest} new\tx y z\n")
        outcome = heedful("data", "check", *corpus, "--dev", str(tmp_path / "dev.tsv"), "--near", "--json")
        assert "near-duplicates" in {finding["kind"] for finding in json.loads(outcome.out)}


class TestStats:
    def test_table(self, heedful: Heedful, corpus: list[str]) -> None:
        outcome = heedful("data", "stats", *corpus, "--dev", corpus[0], "--dev", corpus[1])
        assert outcome.code == 0
        lines = outcome.out.splitlines()
        assert lines[0].split()[:4] == ["split", "side", "pairs", "repeated"]
        assert lines[1].split()[:4] == ["train", "source", "120", "0"]
        assert lines[-1] == "dev and train share 120 pairs, 120 sources, 120 targets (of 120)."

    def test_tokens(self, heedful: Heedful, corpus: list[str], tmp_path: Path) -> None:
        pairs = list(task_pairs(TASKS["lexicon"], 1, "train", 120))
        config = TokenizerConfig(joint=False, source=SideConfig(kind="words"))
        train_tokenizers(config, pairs, seed=1).save(tmp_path / "tokenizers")
        found = json.loads(
            heedful("data", "stats", *corpus, "--tokenizers", str(tmp_path / "tokenizers"), "--json").out
        )
        source = found["splits"][0]["source"]
        assert source["token_percentiles"]["100"] == max(len(pair.source.split()) for pair in pairs)
        assert source["unknown_rate"] == 0
        assert found["worst_batch"]["max_tokens"] == 4096
        plain = heedful("data", "stats", *corpus, "--tokenizers", str(tmp_path / "tokenizers")).out
        assert "The largest batches (max_tokens 4,096) have " in plain

    def test_a_split_that_cannot_be_read_is_left_out(self, heedful: Heedful, corpus: list[str], tmp_path: Path) -> None:
        (tmp_path / "no.tsv").write_text("one column\n")
        outcome = heedful("data", "stats", *corpus, "--test", str(tmp_path / "no.tsv"))
        assert outcome.code == 0
        assert f"warning: test is left out: {tmp_path}/no.tsv:1: 1 column(s)" in outcome.err

    def test_nothing_can_be_read(self, heedful: Heedful, tmp_path: Path) -> None:
        (tmp_path / "no.tsv").write_text("one column\n")
        outcome = heedful("data", "stats", str(tmp_path / "no.tsv"))
        assert outcome.code == 1
        assert f"error: {tmp_path}/no.tsv:1: 1 column(s)" in outcome.err


def test_split(heedful: Heedful, corpus: list[str], tmp_path: Path) -> None:
    arguments = ("data", "split", *corpus, "--out", str(tmp_path / "out"), "--dev", "10", "--test", "20")
    written = json.loads(heedful(*arguments, "--json").out)
    assert [Path(path).name for path in written["test"]] == ["test.en", "test.de"]
    assert Path(written["test"][0]).read_text().count("\n") == 20
    again = heedful(*arguments)
    assert again.code == 2
    assert "exists already" in again.err


def test_everything_needs_only_what_it_uses() -> None:
    """The help of `heedful data`, and its verbs that read no pairs, import no torch."""
    import subprocess
    import sys

    script = "import sys\nfrom heedful.cli.data import list_\nlist_(as_json=True)\nsys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, capture_output=True).returncode == 0


class TestTaxonomy:
    def test_of_files(self, heedful: Heedful, corpus: list[str]) -> None:
        outcome = heedful("data", "taxonomy", *corpus)
        assert outcome.code == 0
        lines = {" ".join(line.split("  ")[0].split()): line for line in outcome.out.splitlines()}
        assert lines["pairs"].endswith("120, of which 120 are aligned")
        assert "seq2seq: asynchronous, and the order may differ" in lines["cell"]
        assert lines["losses that may be used"].endswith("cross-entropy of the next word, with a decoder")
        assert "frames for each source unit are enough" in outcome.out

    def test_of_a_named_data_set_as_json(self, heedful: Heedful) -> None:
        found = json.loads(heedful("data", "taxonomy", "reverse", "--json").out)
        assert found["units"] == {"source": "words", "target": "words"}
        assert found["cell"] == "seq2seq"
        assert found["lengths"]["equal"] == 1
        assert found["order"]["in_order"] < 0.5

    def test_an_empty_source(self, heedful: Heedful, tmp_path: Path) -> None:
        (tmp_path / "pairs.tsv").write_text("a b\tx y\n\tx\n")
        assert "some have an empty source" in heedful("data", "taxonomy", str(tmp_path / "pairs.tsv")).out
