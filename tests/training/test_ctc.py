"""The loss of CTC, against known values, torch, and all paths; its baseline; and which pairs can be learned at all."""

import math
from pathlib import Path

import pytest
import torch
from tests.decoding.paths import forward

from heedful.data.corpus import Pair
from heedful.data.store import PairStore, build_store
from heedful.errors import ConfigError
from heedful.models.interface import Prediction
from heedful.text.config import SideConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizer
from heedful.training.ctc import check_feasible, ctc_losses, equal_split_losses, impossible_pairs, needed_positions

A, B = 1, 2


def uniform(n_places: int) -> Prediction:
    """Blank, a and b alike at each place."""
    return Prediction(torch.zeros(1, n_places, 3), torch.ones(1, n_places, dtype=torch.bool))


@pytest.mark.parametrize(
    ("label", "loss"),
    [([A], 1.504077), ([A, B], 1.686399), ([A, A], 3.295837), ([A, B, A], math.log(27)), ([], math.log(27))],
)
def test_uniform(label: list[int], loss: float) -> None:
    """[Graves 2006]: 6, 5, 1, 1 and 1 of 27 paths."""
    labels = torch.tensor([[*label, 0]])
    assert ctc_losses(uniform(3), labels).tolist() == pytest.approx([loss], abs=1e-6)


def test_what_is_impossible_is_infinite() -> None:
    assert ctc_losses(uniform(2), torch.tensor([[A, A]])).tolist() == [math.inf]


def batch(seed: int = 1) -> tuple[Prediction, torch.Tensor]:
    """Four sentences of different lengths, in double precision."""
    torch.manual_seed(seed)
    logits = (2 * torch.randn(4, 7, 5, dtype=torch.float64)).requires_grad_()
    mask = torch.arange(7) < torch.tensor([7, 4, 5, 1])[:, None]
    return Prediction(logits, mask), torch.tensor([[1, 1, 4], [3, 0, 0], [2, 1, 0], [0, 0, 0]])


def test_all_paths() -> None:
    answer, labels = batch()
    losses = ctc_losses(answer, labels)
    for row, (label, length) in enumerate(zip(([1, 1, 4], [3], [2, 1], []), (7, 4, 5, 1), strict=True)):
        p = answer.logits[row, :length].softmax(dim=1).tolist()
        assert losses[row].item() == pytest.approx(-math.log(forward(p, label)))


def test_torch_and_gradients() -> None:
    """The sum is torch's own, and so is its gradient; where there is no place it is zero."""
    answer, labels = batch()
    lengths = answer.mask.sum(1), (labels != 0).sum(1)
    expected = torch.nn.CTCLoss(reduction="sum")(answer.logits.log_softmax(2).transpose(0, 1), labels, *lengths)
    total = ctc_losses(answer, labels).sum()
    torch.testing.assert_close(total, expected)
    ours, theirs = (torch.autograd.grad(loss, answer.logits, retain_graph=True)[0] for loss in (total, expected))
    torch.testing.assert_close(ours, theirs)
    assert not ours[~answer.mask].any()
    assert torch.autograd.gradcheck(lambda logits: ctc_losses(answer._replace(logits=logits), labels), answer.logits)


def test_padding_changes_nothing() -> None:
    answer, labels = batch()
    wider = Prediction(
        torch.nn.functional.pad(answer.logits, (0, 0, 0, 5), value=3.0), torch.nn.functional.pad(answer.mask, (0, 5))
    )
    more = torch.nn.functional.pad(labels, (0, 3))
    for losses in (ctc_losses, equal_split_losses):
        torch.testing.assert_close(losses(wider, more), losses(answer, labels))


def test_low_precision_is_summed_in_float32() -> None:
    answer, labels = batch()
    low = answer._replace(logits=answer.logits.detach().to(torch.bfloat16))
    losses = ctc_losses(low, labels)
    assert losses.dtype == torch.float32
    torch.testing.assert_close(losses, ctc_losses(low._replace(logits=low.logits.double()), labels).float())


def test_an_equal_split_by_hand() -> None:
    """Two symbols share five places: a a a b b."""
    logits = torch.randn(1, 6, 4, dtype=torch.float64)
    answer = Prediction(logits, torch.arange(6)[None] < 5)
    log_p = logits[0].log_softmax(dim=1)
    expected = -sum(log_p[place, index] for place, index in enumerate([1, 1, 1, 3, 3]))
    assert equal_split_losses(answer, torch.tensor([[1, 3, 0]])).tolist() == pytest.approx([float(expected)])


@pytest.mark.parametrize(("target", "places"), [([], 0), ([4], 1), ([4, 5], 2), ([4, 4], 3), ([4, 4, 4, 5, 5], 8)])
def test_needed_positions(target: list[int], places: int) -> None:
    assert needed_positions(target) == places


class TestFeasible:
    @pytest.fixture
    def store(self, tmp_path: Path) -> PairStore:
        """Four pairs, of which the second and the last have more symbols, or repeats, than letters."""
        pairs = [Pair("abc", "x y z"), Pair("ab", "x y z"), Pair("aaa", "x y"), Pair("abc", "x y y y")]
        source = train_tokenizer(SideConfig(kind="characters"), [pair.source for pair in pairs], 1)
        target = train_tokenizer(SideConfig(kind="words"), [pair.target for pair in pairs], 1)
        return build_store(tmp_path / "store", pairs, Tokenizers(source, target), 10)

    def test_found(self, store: PairStore) -> None:
        assert impossible_pairs(store, store.source_lengths).tolist() == [1, 3]
        assert impossible_pairs(store, 2 * store.source_lengths).tolist() == []

    @pytest.mark.parametrize(("split", "way_out"), [("training", "model.drop_impossible"), ("dev", "training.select")])
    def test_the_error_counts_and_names(self, store: PairStore, split, way_out: str) -> None:
        with pytest.raises(ConfigError, match=f"2 of 4 {split} pairs are impossible for CTC") as caught:
            check_feasible(split, store, store.source_lengths)
        assert caught.value.message.endswith("The first is pair 2: 3 needed, 2 there.")
        assert caught.value.hint is not None
        assert "Upsample >= 2x" in caught.value.hint
        assert way_out in caught.value.hint

    def test_what_is_possible_is_no_error(self, store: PairStore) -> None:
        check_feasible("training", store, 2 * store.source_lengths)
