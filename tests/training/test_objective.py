"""Label-smoothed cross-entropy: three conventions by hand, torch's loss, gradients, and the memory it does not take."""

import math

import pytest
import torch
from tests.models.tiny import PAIRS, batch_of, tiny_model
from tests.training.toy import training_config
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import heedful.training.objective as objective
from heedful.tasks.table import compute_loss
from heedful.text.vocabulary import PAD
from heedful.training.objective import label_smoothed_cross_entropy, smoothed_target

V, D = 7, 5
CONVENTIONS = pytest.mark.parametrize("over", ["all", "others", "non_pad"])
CHUNKS = pytest.mark.parametrize("rows", [1, 3, 1000])


def example(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden vectors [2 4 D], an output matrix [V D], and labels of which three are padding."""
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(2, 4, D, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(V, D, generator=generator, dtype=torch.float64, requires_grad=True)
    return hidden, weight, torch.tensor([[1, 6, 2, 3], [4, PAD, PAD, PAD]])


def distribution(label: int, n_classes: int, epsilon: float, over: str) -> list[float]:
    """The smoothed target, class by class."""
    sharers = {
        "all": list(range(n_classes)),
        "others": [c for c in range(n_classes) if c != label],
        "non_pad": [c for c in range(n_classes) if c not in (label, PAD)],
    }[over]
    target = [0.0] * n_classes
    target[label] = 1 - epsilon
    for one in sharers:
        target[one] += epsilon / len(sharers)
    return target


class TestByHand:
    @pytest.mark.parametrize(
        ("over", "right", "rest"), [("all", 0.92, 0.02), ("others", 0.90, 0.025), ("non_pad", 0.90, 0.1 / 3)]
    )
    def test_targets_of_five_classes(self, over, right: float, rest: float) -> None:
        target = smoothed_target(5, 0.1, over)
        assert (target.right, target.rest) == pytest.approx((right, rest))
        classes = 3 if over == "non_pad" else 4
        assert target.right + classes * target.rest == pytest.approx(1)

    @pytest.mark.parametrize(("over", "floor"), [("all", 0.389673), ("others", 0.463712), ("non_pad", 0.434944)])
    def test_floor(self, over, floor: float) -> None:
        """A model that predicts exactly the smoothed target still has a loss: the entropy of the target."""
        target = distribution(2, 5, 0.1, over)
        log_p = [math.log(max(p, 1e-300)) for p in target]
        assert self.loss(log_p, 2, over) == pytest.approx(floor, abs=1e-6)

    def test_five_probabilities(self) -> None:
        """The true class is the first of torch's five; here it must not be PAD, so the classes are turned by one."""
        log_p = [math.log(p) for p in (0.05, 0.7, 0.1, 0.1, 0.05)]
        assert self.loss(log_p, 1, "all") == pytest.approx(0.540074, abs=1e-6)

    def loss(self, log_p: list[float], label: int, over) -> float:
        hidden = torch.tensor(log_p, dtype=torch.float64)[None, None]
        found = label_smoothed_cross_entropy(
            hidden, torch.eye(5, dtype=torch.float64), torch.tensor([[label]]), 0.1, over
        )
        return found.smoothed.item()

    def test_too_few_classes(self) -> None:
        with pytest.raises(ValueError, match="`non_pad` smoothing needs more than 2 classes"):
            smoothed_target(2, 0.1, "non_pad")


@CHUNKS
class TestAgainstOthers:
    @pytest.fixture(autouse=True)
    def _chunk(self, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
        monkeypatch.setattr(objective, "CHUNK_ELEMENTS", rows * V)

    @pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.6])
    def test_equals_torch(self, epsilon: float, rows: int) -> None:
        found = []
        for own in (True, False):
            hidden, weight, labels = example()
            if own:
                loss = label_smoothed_cross_entropy(hidden, weight, labels, epsilon).smoothed
            else:
                theirs = torch.nn.CrossEntropyLoss(label_smoothing=epsilon, ignore_index=PAD, reduction="sum")
                loss = theirs((hidden @ weight.T).flatten(0, 1), labels.flatten())
            found.append([loss, *torch.autograd.grad(loss, (hidden, weight))])
        for ours, torchs in zip(*found, strict=True):
            torch.testing.assert_close(ours, torchs)

    @CONVENTIONS
    def test_equals_the_sum_over_classes(self, over, rows: int) -> None:
        hidden, weight, labels = example()
        log_p = (hidden @ weight.T).log_softmax(-1)[labels != PAD]
        targets = torch.tensor([distribution(int(label), V, 0.1, over) for label in labels[labels != PAD]]).double()
        loss = label_smoothed_cross_entropy(hidden, weight, labels, 0.1, over)
        torch.testing.assert_close(loss.smoothed, -(targets * log_p).sum(), atol=1e-6, rtol=0)

    @CONVENTIONS
    def test_gradients_by_finite_differences(self, over, rows: int) -> None:
        hidden, weight, labels = example()

        def loss(hidden: Tensor, weight: Tensor) -> Tensor:
            return label_smoothed_cross_entropy(hidden, weight, labels, 0.1, over).smoothed * 3

        assert torch.autograd.gradcheck(loss, (hidden, weight))

    def test_perplexity_is_without_smoothing(self, rows: int) -> None:
        hidden, weight, labels = example()
        plain = label_smoothed_cross_entropy(hidden, weight, labels, 0.0)
        for over in ("all", "others", "non_pad"):
            smoothed = label_smoothed_cross_entropy(hidden, weight, labels, 0.2, over)
            assert not smoothed.nll.requires_grad
            torch.testing.assert_close(smoothed.nll, plain.smoothed)
            assert smoothed.count == 5


class Watch(TorchDispatchMode):
    """Notes the size of every tensor that is made, and the matrix products."""

    def __init__(self) -> None:
        super().__init__()
        self.largest, self.products = 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, Tensor):
            self.largest = max(self.largest, out.numel())
        self.products += func in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
        return out


def test_all_logits_are_never_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 x 50 logits in pieces of 5 rows: nothing as large as a tenth of them is made, forward or backward."""
    monkeypatch.setattr(objective, "CHUNK_ELEMENTS", 5 * 50)
    hidden, weight = torch.randn(8, 8, 4, requires_grad=True), torch.randn(50, 4, requires_grad=True)
    labels = torch.randint(1, 50, (8, 8))
    with Watch() as watch:
        label_smoothed_cross_entropy(hidden, weight, labels, 0.1).smoothed.backward()
    assert watch.largest <= 64 * 5


def test_a_validation_computes_no_gradients() -> None:
    hidden, weight, labels = example()
    with torch.no_grad(), Watch() as watch:
        label_smoothed_cross_entropy(hidden, weight, labels, 0.1)
    assert watch.products == 1


def test_a_second_derivative_is_refused_not_wrong() -> None:
    hidden, weight, labels = example()
    loss = label_smoothed_cross_entropy(hidden, weight, labels).smoothed.square()
    (gradient,) = torch.autograd.grad(loss, hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_bfloat16_is_near_and_sums_in_float32() -> None:
    batch = batch_of(PAIRS)
    found = []
    for precision in ("float32", "bfloat16"):
        model = tiny_model().float()
        loss = compute_loss(model, batch, training_config({"precision": precision}))
        loss.smoothed.backward()
        assert loss.smoothed.dtype == loss.nll.dtype == torch.float32
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        assert all(gradient.dtype == torch.float32 for gradient in gradients)
        found.append((loss, torch.cat([gradient.flatten() for gradient in gradients])))
    (exact, slopes), (near, near_slopes) = found
    assert near.smoothed.item() == pytest.approx(exact.smoothed.item(), rel=0.02)
    assert near.smoothed.item() != exact.smoothed.item()
    assert torch.cosine_similarity(slopes, near_slopes, dim=0).item() > 0.99
