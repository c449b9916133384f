"""Which split judges a finished model."""

from pathlib import Path

import pytest

from heedful.data.config import DataConfig
from heedful.decoding.config import BeamSearch, with_changes
from heedful.errors import HeedfulError
from heedful.models.config import ModelConfig
from heedful.models.ctc_config import CTCConfig
from heedful.models.rnn_config import RNNConfig
from heedful.models.tagger_config import TaggerConfig
from heedful.pipeline.evaluate_split import describe_search, final_split


def own_files(folder: Path, **splits: str) -> DataConfig:
    for name, text in splits.items():
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    return DataConfig(**{name: [str(folder / f"{name}.tsv")] for name in splits})


def test_the_test_set_judges(tmp_path: Path) -> None:
    assert final_split(own_files(tmp_path, train="a\tb\n", dev="a\tb\n", test="a\tb\n")) == "test"


def test_dev_judges_where_there_is_no_test_set(tmp_path: Path) -> None:
    assert final_split(own_files(tmp_path, train="a\tb\n", dev="a\tb\n")) == "dev"


def test_dev_judges_where_a_local_copy_of_a_named_set_lacks_its_test_set(tmp_path: Path) -> None:
    folder = tmp_path / "low"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"ady_{split}.tsv").write_text("a\tb\n" * (800 if split == "train" else 100), encoding="utf-8")
    assert final_split(DataConfig(catalogue="sigmorphon2021-g2p-ady", folder=str(tmp_path))) == "dev"


def test_an_own_test_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    data = own_files(tmp_path, train="a\tb\n", dev="a\tb\n")
    with pytest.raises(HeedfulError):
        final_split(data.model_copy(update={"test": (str(tmp_path / "gone.tsv"),)}))


BEAM = "beam=5,length_penalty=0.6,max_extra=50"


@pytest.mark.parametrize(
    ("changes", "described"),
    [
        ({}, BEAM),
        ({"temperature": 0.5, "epsilon": 0.02}, "epsilon=0.02,max_extra=50,method=sample,seed=1,temperature=0.5"),
        (
            {"samples": 8},  # no beam has a part in it
            "candidates=samples,max_extra=50,method=mbr,samples=8,seed=1,temperature=1.0,utility=chrf",
        ),
        (
            {"samples": 8, "candidates": "both", "beam": 2},
            "beam=2,candidates=both,length_penalty=0.6,max_extra=50,method=mbr,samples=8,seed=1,temperature=1.0,"
            "utility=chrf",
        ),
        ({"shortlist": True}, f"{BEAM},shortlist=True"),
        ({"no_repeat_ngram": 3}, f"{BEAM},no_repeat_ngram=3"),
    ],
)
def test_how_outputs_were_found(changes: dict[str, object], described: str) -> None:
    rnn = RNNConfig.model_validate({"cell": "gru", "attention": "none"})
    assert describe_search(with_changes(BeamSearch(), changes), rnn) == described


@pytest.mark.parametrize(
    ("model", "changes", "described"),
    [
        (TaggerConfig(encoder="gru"), {"beam": 3}, "one-pass"),
        (TaggerConfig(encoder="gru"), {"precision": "int8"}, "precision=int8"),
        (CTCConfig(), {"beam": 3}, "beam=3"),
        (CTCConfig(loss="equal-split"), {"beam": 3}, "one-pass"),
    ],
)
def test_how_a_model_without_decoder_answered(model: ModelConfig, changes: dict[str, object], described: str) -> None:
    assert describe_search(with_changes(BeamSearch(), changes), model) == described
