"""The plan of batches: every pair once an epoch, within the budget, by the seed, with little padding."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from heedful.data.batch import BatchPlan


def lengths(seed: int, count: int, longest: int = 60) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    rng = np.random.default_rng(seed)
    source = rng.integers(1, longest, count, dtype=np.int32)
    return source, np.maximum(1, source + rng.integers(-5, 6, count, dtype=np.int32))


def tokens(batch: NDArray[np.int64], source: NDArray[np.int32], target: NDArray[np.int32]) -> int:
    return len(batch) * (max(int(source[batch].max()), int(target[batch].max())) + 1)


@given(st.integers(0, 99), st.integers(1, 300), st.integers(1, 500), st.integers(0, 3))
@settings(max_examples=60)
def test_every_pair_once_and_within_the_budget(seed: int, count: int, max_tokens: int, epoch: int) -> None:
    source, target = lengths(seed, count)
    plan = BatchPlan(source, target, max_tokens, seed)
    batches = plan.epoch(epoch)
    assert len(batches) == plan.batches_per_epoch
    assert sorted(np.concatenate(batches).tolist()) == list(range(count))
    assert all(tokens(batch, source, target) <= max_tokens or len(batch) == 1 for batch in batches)


def test_no_batch_could_take_its_neighbour_too() -> None:
    """By hand: lengths 1, 1, 1, 5 and a budget of 6 tokens, EOS counted: three short pairs, then the long one."""
    short_first = np.array([5, 1, 1, 1], np.int32)
    batches = BatchPlan(short_first, short_first, 6, seed=1).epoch(0)
    assert sorted(sorted(batch.tolist()) for batch in batches) == [[0], [1, 2, 3]]


def test_a_pair_over_the_budget_is_its_own_batch() -> None:
    source = np.array([3, 5000, 3], np.int32)
    batches = BatchPlan(source, np.array([3, 3, 3], np.int32), 100, seed=1).epoch(0)
    assert [1] in [batch.tolist() for batch in batches]


class TestSeeds:
    SOURCE, TARGET = lengths(1, 5000)

    def plan(self, seed: int) -> BatchPlan:
        return BatchPlan(self.SOURCE, self.TARGET, 1000, seed)

    def test_same_seed_same_plan_in_any_order_of_asking(self) -> None:
        one, other = self.plan(3), self.plan(3)
        backwards = [other.epoch(number) for number in (2, 1, 0)][::-1]
        for number in range(3):
            mine = one.epoch(number)
            assert all(np.array_equal(a, b) for a, b in zip(mine, backwards[number], strict=True))

    def test_other_seeds_and_epochs_differ(self) -> None:
        plan = self.plan(3)
        first = {tuple(batch.tolist()) for batch in plan.epoch(0)}
        assert len(first & {tuple(batch.tolist()) for batch in plan.epoch(1)}) < 0.1 * len(first)
        assert len(first & {tuple(batch.tolist()) for batch in self.plan(4).epoch(0)}) < 0.1 * len(first)

    def test_batches_are_not_in_the_order_of_lengths(self) -> None:
        means = [float(self.SOURCE[batch].mean()) for batch in self.plan(3).epoch(0)]
        assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3

    def test_global_index(self) -> None:
        plan = self.plan(3)
        n = plan.batches_per_epoch
        indices = [0, n - 1, n, 2 * n + 5, 4]  # back to an earlier epoch too
        for index in indices:
            assert np.array_equal(plan.batch(index), self.plan(3).epoch(index // n)[index % n])


def test_padding_share_by_hand() -> None:
    """Two rows of 2 and 4 tokens with EOS: source 6 real of 8; target the same."""
    source = np.array([1, 3], np.int32)
    assert BatchPlan(source, source, 100, seed=1).padding_share(0) == pytest.approx(1 - 12 / 16)


def test_wrong_arguments() -> None:
    one, two = np.ones(1, np.int32), np.ones(2, np.int32)
    with pytest.raises(ValueError, match="must have one entry a pair, but have 1 and 2"):
        BatchPlan(one, two, 100, seed=1)
    with pytest.raises(ValueError, match="must have one entry a pair, but have 0 and 0"):
        BatchPlan(one[:0], one[:0], 100, seed=1)
    with pytest.raises(ValueError, match=r"`max_tokens` must be positive, but is 0\."):
        BatchPlan(one, one, 0, seed=1)


def test_a_million_pairs_in_no_time() -> None:
    """100 million have a hundred times as much of what is linear, and nothing else."""
    import time

    source, target = lengths(1, 1_000_000, longest=200)
    start = time.process_time()
    BatchPlan(source, target, 25_000, seed=1).epoch(0)
    assert time.process_time() - start < 3


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_less_than_5_percent_padding_on_multi30k(shared_data: Path, tmp_path: Path, algorithm: str) -> None:
    from heedful.data.config import DataConfig
    from heedful.data.store import build_store
    from heedful.recipe.splits import load_split
    from heedful.text.config import SideConfig, TokenizerConfig
    from heedful.text.tokenizer import train_tokenizers

    data = DataConfig(catalogue="multi30k-en-de", folder=str(shared_data / "multi30k"))
    side = SideConfig.model_validate({"algorithm": algorithm})
    tokenizers = train_tokenizers(TokenizerConfig(source=side), load_split(data, "train"), seed=1)
    store = build_store(tmp_path, load_split(data, "train"), tokenizers, max_length=256)
    assert BatchPlan(store.source_lengths, store.target_lengths, 4096, seed=1).padding_share(0) < 0.05
