"""Batches of tensors, and the plan that says which pairs make up which batch.

`collate` is the only place of the project where targets are shifted. Knows nothing of files.
"""

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from heedful.data.store import PairStore
from heedful.seeds import seed_of
from heedful.text.tokenizer import Tokenizers
from heedful.text.vocabulary import BOS, EOS, PAD

Indices = NDArray[np.int64]
Lengths = NDArray[np.int32]
SideIds = Sequence[int] | NDArray[np.int32]


class Batch(NamedTuple):
    """Sentences side by side; what lies behind the end of a shorter one is PAD."""

    src: Int[Tensor, "B S"]  # ids and EOS
    src_mask: Bool[Tensor, "B S"]  # True at ids and EOS
    tgt_in: Int[Tensor, "B T"]  # BOS and ids: what the decoder consumes
    tgt_out: Int[Tensor, "B T"]  # ids and EOS: what it must predict
    indices: list[int]  # the numbers of the pairs

    @property
    def n_source(self) -> int:
        """Source tokens without padding, EOS included."""
        return int(self.src_mask.sum())

    @property
    def n_target(self) -> int:
        """Target tokens without padding, EOS included: the number of predictions."""
        return int((self.tgt_out != PAD).sum())

    def to(self, device: torch.device | str) -> "Batch":
        """Copy the batch to a device."""
        moved = (tensor.to(device, non_blocking=True) for tensor in self[:4])
        return Batch(*moved, indices=self.indices)


def collate(pairs: Sequence[tuple[SideIds, SideIds]], indices: Sequence[int]) -> Batch:
    """Make a batch of (source ids, target ids), without BOS and EOS; `indices` are the numbers of the pairs."""
    source_lengths = np.array([len(source) for source, _ in pairs])
    target_lengths = np.array([len(target) for _, target in pairs])
    rows = np.arange(len(pairs))
    src = np.full((len(pairs), source_lengths.max() + 1), PAD, np.int64)
    tgt_in = np.full((len(pairs), target_lengths.max() + 1), PAD, np.int64)
    tgt_out = tgt_in.copy()
    for row, (source, target) in enumerate(pairs):
        src[row, : len(source)] = source
        tgt_in[row, 1 : len(target) + 1] = target
        tgt_out[row, : len(target)] = target
    src[rows, source_lengths] = EOS
    tgt_in[:, 0] = BOS
    tgt_out[rows, target_lengths] = EOS
    src_mask = np.arange(src.shape[1]) <= source_lengths[:, None]
    tensors = (torch.from_numpy(array) for array in (src, src_mask, tgt_in, tgt_out))
    return Batch(*tensors, indices=[int(index) for index in indices])


def labels_of(tgt_out: Int[Tensor, "B T"]) -> Int[Tensor, "B _"]:
    """Return the targets without EOS, which is not predicted: its position becomes PAD, and the last column goes."""
    return tgt_out.masked_fill(tgt_out == EOS, PAD)[:, :-1]


def load_batch(
    store: PairStore,
    indices: Sequence[int] | Indices,
    tokenizers: Tokenizers | None = None,
    sampling_seed: int | None = None,
) -> Batch:
    """Make the batch of these pairs of a store.

    With `tokenizers` that sample and a `sampling_seed`, the texts are cut anew at random, as the seed and the number of
    the pair decide. Such a pair may be longer than the plan assumed.
    """
    numbers = [int(index) for index in indices]
    if tokenizers is None or sampling_seed is None or not tokenizers.samples:
        return collate([store.arrays(index) for index in numbers], numbers)
    pairs = []
    for index in numbers:
        text, seed = store.pair(index), seed_of(sampling_seed, index)
        pairs.append((tokenizers.source.sample(text.source, seed), tokenizers.target.sample(text.target, seed)))
    return collate(pairs, numbers)


@final
class BatchPlan:
    """Plan of which pairs make up which batch, over endless epochs: a function of the lengths, the budget and the seed
    alone.

    A batch has rows * longest tokens, PAD and EOS counted, on the larger of its two sides: at most `max_tokens`. A pair
    that alone has more is a batch of its own. Pairs lie in the order of their longer side, and those with an equally
    long one in the order of source length less target length, up and down in turn, so that neighbours are alike on both
    sides. Batches are cut from this order. Every epoch shuffles the pairs of equal lengths, then the batches, so that
    the number of batches stays the same.
    """

    def __init__(self, source_lengths: Lengths, target_lengths: Lengths, max_tokens: int, seed: int) -> None:
        """Plan batches of pairs of these lengths, in tokens without EOS."""
        if len(source_lengths) != len(target_lengths) or len(source_lengths) == 0:
            counts = f"{len(source_lengths)} and {len(target_lengths)}"
            raise ValueError(f"`source_lengths` and `target_lengths` must have one entry a pair, but have {counts}.")
        if max_tokens <= 0:
            raise ValueError(f"`max_tokens` must be positive, but is {max_tokens}.")
        self._source_lengths, self._target_lengths, self._seed = source_lengths, target_lengths, seed
        self._groups = _length_groups(source_lengths, target_lengths)
        order = np.argsort(self._groups, kind="stable")
        self._borders = _cut(np.maximum(source_lengths, target_lengths)[order] + 1, max_tokens)
        self._epoch: tuple[int, list[Indices]] | None = None

    @property
    def batches_per_epoch(self) -> int:
        """Number of batches in which each pair comes once."""
        return len(self._borders) - 1

    def epoch(self, number: int) -> list[Indices]:
        """List the batches of an epoch, counted from 0, each as the numbers of its pairs."""
        if self._epoch is None or self._epoch[0] != number:
            rng = np.random.default_rng([self._seed, number])
            shuffled = rng.permutation(len(self._groups))
            order = shuffled[np.argsort(self._groups[shuffled], kind="stable")]
            batches = [order[start:end] for start, end in zip(self._borders[:-1], self._borders[1:], strict=True)]
            self._epoch = number, [batches[place] for place in rng.permutation(len(batches))]
        return self._epoch[1]

    def batch(self, index: int) -> Indices:
        """Return a batch by its number since the start of training, counted from 0."""
        epoch, place = divmod(index, self.batches_per_epoch)
        return self.epoch(epoch)[place]

    def padding_share(self, number: int) -> float:
        """Return the share of PAD among all ids of an epoch, both sides together."""
        padded = real = 0
        for batch in self.epoch(number):
            for lengths in (self._source_lengths[batch] + 1, self._target_lengths[batch] + 1):
                padded += len(batch) * int(lengths.max())
                real += int(lengths.sum())
        return 1 - real / padded


def _length_groups(source_lengths: Lengths, target_lengths: Lengths) -> NDArray[np.unsignedinteger]:
    """Rank each pair by its two lengths in the order of batches; equal lengths have equal ranks.

    By tables, not by sorting, and in the smallest type: numpy sorts 16-bit numbers in linear time.
    """
    longer = _ranks(np.maximum(source_lengths, target_lengths))
    difference = source_lengths.astype(np.int64) - target_lengths
    difference = _ranks(difference - difference.min())
    n_differences = int(difference.max()) + 1
    difference = np.where(longer % 2 == 0, difference, n_differences - 1 - difference)
    return _ranks(longer.astype(np.int64) * n_differences + difference)


def _ranks(values: NDArray[np.integer]) -> NDArray[np.unsignedinteger]:
    """Count for each value how many different smaller ones there are."""
    present = np.zeros(int(values.max()) + 1, bool)
    present[values] = True
    ranks = np.cumsum(present) - 1
    return ranks.astype(np.min_scalar_type(int(ranks[-1])))[values]


def _cut(costs: Lengths, max_tokens: int) -> NDArray[np.int64]:
    """Return the borders of batches along pairs in their order: the next batch is as long as rows * largest cost
    allows.
    """
    borders = [0]
    while (start := borders[-1]) < len(costs):
        window = costs[start : start + max(1, max_tokens // int(costs[start]))]
        fits = np.maximum.accumulate(window) * np.arange(1, len(window) + 1) <= max_tokens
        borders.append(start + max(1, int(np.count_nonzero(fits))))
    return np.array(borders)
