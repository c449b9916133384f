"""Batches: the shift, the masks, and random segmentations."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.data.made_up import pairs, sampling_tokenizers, word_tokenizers

from heedful.data.batch import Batch, collate, load_batch
from heedful.data.store import build_store
from heedful.text.vocabulary import BOS, EOS, PAD

CORPUS = pairs(50)
ids = st.lists(st.integers(4, 99), max_size=8)


def test_by_hand() -> None:
    batch = collate([([5, 6], [7, 8, 9]), ([5], [])], [3, 1])
    assert batch.src.tolist() == [[5, 6, EOS], [5, EOS, PAD]]
    assert batch.src_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.tgt_in.tolist() == [[BOS, 7, 8, 9], [BOS, PAD, PAD, PAD]]
    assert batch.tgt_out.tolist() == [[7, 8, 9, EOS], [EOS, PAD, PAD, PAD]]
    assert batch.indices == [3, 1]
    assert (batch.n_source, batch.n_target) == (5, 5)


@given(st.lists(st.tuples(ids, ids), min_size=1, max_size=6))
def test_every_row_gives_its_pair_back(rows: list[tuple[list[int], list[int]]]) -> None:
    batch = collate(rows, range(len(rows)))
    for row, (source, target) in enumerate(rows):
        assert batch.src[row][batch.src_mask[row]].tolist() == [*source, EOS]
        consumed, predicted = batch.tgt_in[row].tolist(), batch.tgt_out[row].tolist()
        assert consumed[: len(target) + 1] == [BOS, *target]
        assert predicted[: len(target) + 1] == [*target, EOS]
        assert set(consumed[len(target) + 1 :]) | set(predicted[len(target) + 1 :]) <= {PAD}
    assert batch.n_target == sum(len(target) + 1 for _, target in rows)
    assert batch.src.dtype == batch.tgt_in.dtype == batch.tgt_out.dtype == torch.int64
    assert batch.src.shape[1] == max(len(source) for source, _ in rows) + 1


def test_to_a_device() -> None:
    batch = collate([([5], [6])], [0]).to("meta")
    assert isinstance(batch, Batch)
    assert {tensor.device.type for tensor in batch[:4]} == {"meta"}
    assert batch.indices == [0]


def test_from_the_store(tmp_path: Path) -> None:
    tokenizers = word_tokenizers(CORPUS)
    store = build_store(tmp_path, CORPUS, tokenizers, max_length=50)
    numbers = np.array([4, 0, 31])
    batch = load_batch(store, numbers)
    expected = collate([store.ids(number) for number in numbers.tolist()], [4, 0, 31])
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(batch[:4], expected[:4], strict=True))
    assert batch.indices == [4, 0, 31]
    unsampled = load_batch(store, numbers, tokenizers, sampling_seed=1)
    assert torch.equal(unsampled.src, batch.src)


class TestSampling:
    def test_same_text_by_seed(self, tmp_path: Path) -> None:
        tokenizers = sampling_tokenizers(CORPUS)
        store = build_store(tmp_path, CORPUS, tokenizers, max_length=100)
        first, again, other = (load_batch(store, [2, 9], tokenizers, seed) for seed in (5, 5, 6))
        assert torch.equal(first.src, again.src)
        assert torch.equal(first.tgt_out, again.tgt_out)
        assert not torch.equal(first.src, other.src)
        for row, number in enumerate((2, 9)):
            assert tokenizers.source.decode(first.src[row].tolist()) == CORPUS[number].source
            assert tokenizers.target.decode(first.tgt_out[row].tolist()) == CORPUS[number].target

    def test_whatever_the_batch(self, tmp_path: Path) -> None:
        """A segmentation depends on the seed and the number of its pair, not on its neighbours."""
        tokenizers = sampling_tokenizers(CORPUS)
        store = build_store(tmp_path, CORPUS, tokenizers, max_length=100)
        together, alone = load_batch(store, [9, 2, 30], tokenizers, 5), load_batch(store, [2], tokenizers, 5)
        assert together.src[1][together.src_mask[1]].tolist() == alone.src[0].tolist()

    @pytest.mark.parametrize("seed", [None, 3])
    def test_off_without_seed_or_tokenizers(self, tmp_path: Path, seed: int | None) -> None:
        tokenizers = sampling_tokenizers(CORPUS)
        store = build_store(tmp_path, CORPUS, tokenizers, max_length=100)
        batch = load_batch(store, [2], tokenizers if seed is None else None, seed)
        assert batch.src[0].tolist() == [*store.ids(2)[0], EOS]
