"""Weights in files: each matrix once, whole or not at all, and never into the wrong model."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from tests.models.tiny import BASE, PAIRS, batch_of, tiny_model

from heedful.errors import HeedfulError
from heedful.models.weights import average, load_weights, read_tensors, weights_of, write_tensors


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    write_tensors(path, weights_of(tiny_model()))
    return path


@pytest.mark.parametrize(("tie", "matrices"), [("all", 1), ("decoder", 2), ("none", 3)])
def test_a_shared_matrix_is_stored_once(tmp_path: Path, tie: str, matrices: int) -> None:
    model = tiny_model({"tie": tie})
    write_tensors(tmp_path / "w", weights_of(model))
    with safe_open(tmp_path / "w", framework="pt") as stored:
        names = list(stored.keys())
    assert sum(name.startswith(("embed", "output")) for name in names) == matrices
    assert set(names) == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_save_is_load(tmp_path: Path, tie: str) -> None:
    model, other = tiny_model({"tie": tie}), tiny_model({"tie": tie}, seed=1)
    write_tensors(tmp_path / "w", weights_of(model))
    load_weights(other, read_tensors(tmp_path / "w"), tmp_path / "w")
    batch = batch_of(PAIRS)
    hidden = [m.logits(m(batch.src, batch.src_mask, batch.tgt_in)) for m in (model, other)]
    assert torch.equal(hidden[0], hidden[1])
    assert (other.output_weight() is other.embed_target.weight) == (tie != "none")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_encoder_layers": 3}, r"lacks `encoder\.2\.feed_forward\.narrow\.bias`\."),
        ({"n_encoder_layers": 1}, r"has, unlike the model, `encoder\.1\.feed_forward\.narrow\.bias`\."),
        ({"d_ff": 21}, r"widen\.weight` is \[20, 12\], but the model's is \[21, 12\]\."),
        ({"tie": "none"}, "lacks `embed_source.weight`"),
    ],
    ids=str,
)
def test_another_model(file: Path, changes: dict[str, object], message: str) -> None:
    model = tiny_model(changes)
    with pytest.raises(HeedfulError, match=message) as caught:
        load_weights(model, read_tensors(file), file)
    assert str(file) in caught.value.message
    assert "different models" in (caught.value.hint or "")


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(HeedfulError, match=r"There is no .*absent") as caught:
        read_tensors(tmp_path / "absent")
    assert caught.value.hint == "Is this folder a bundle, or a checkpoint of a run?"


@pytest.mark.parametrize(
    "harm", [lambda data: data[:-7], lambda data: data[:5], lambda data: b"", lambda data: b"\xff" * 8 + data[8:]]
)
def test_damaged(file: Path, harm: Callable[[bytes], bytes]) -> None:
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(HeedfulError, match="is damaged"):
        read_tensors(file)


def test_a_full_disk_leaves_the_former_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HeedfulError, match=r"The disk is full: .* could not be written") as caught:
        write_tensors(file, weights_of(tiny_model(seed=1)))
    assert "what was there before is unharmed" in (caught.value.hint or "")
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


class TestAverage:
    def test_is_the_mean(self, tmp_path: Path) -> None:
        files = [tmp_path / str(n) for n in range(3)]
        for n, path in enumerate(files):
            write_tensors(path, {"a": torch.tensor([n, 10.0 * n]), "b": torch.tensor([2.0**24, 1.0, 1.0][n])})
        mean = average(files)
        assert mean["a"].tolist() == [1.0, 10.0]
        assert mean["b"].item() == (2**24 + 2) / 3  # in float32 the ones would be lost
        assert mean["a"].dtype == torch.float32

    def test_of_one_is_itself(self, file: Path) -> None:
        for name, tensor in average([file]).items():
            torch.testing.assert_close(tensor, read_tensors(file)[name].float(), atol=0, rtol=0)

    def test_of_none(self) -> None:
        with pytest.raises(HeedfulError, match="There are no checkpoints to average"):
            average([])

    def test_of_different_models(self, file: Path, tmp_path: Path) -> None:
        write_tensors(tmp_path / "other", weights_of(tiny_model({**BASE, "n_encoder_layers": 1})))
        with pytest.raises(HeedfulError, match="hold different weights"):
            average([file, tmp_path / "other"])
