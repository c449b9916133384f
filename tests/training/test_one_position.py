"""The loss of one position a sentence: right on the mean, by enumeration, and never less spread."""

import itertools
from pathlib import Path

import pytest
import torch
from tests.models.tiny import PAIRS, batch_of, tiny_model
from tests.training.toy import batch_at, held_out_loss, toy, training_config
from torch import Tensor

from heedful.tasks.table import compute_loss, task_of
from heedful.training.objective import SmoothingOver, label_smoothed_cross_entropy, loss_at, one_position_loss

TARGETS = torch.tensor([[5, 6, 3], [4, 3, 0], [3, 0, 0]])  # 3, 2 and 1 positions
CHOICES = [torch.tensor(places) for places in itertools.product(range(3), range(2), range(1))]


def made_up() -> list[Tensor]:
    """Hidden vectors and an output matrix."""
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=torch.double, requires_grad=True) for shape in ((3, 3, 4), (7, 4))]


@pytest.mark.parametrize(("epsilon", "over"), [(0.0, "all"), (0.1, "all"), (0.2, "others"), (0.2, "non_pad")])
def test_its_mean_over_all_choices_is_the_loss_of_all_positions(epsilon: float, over: SmoothingOver) -> None:
    """So is that of its gradient."""
    hidden, weight = made_up()
    whole = label_smoothed_cross_entropy(hidden, weight, TARGETS, epsilon, over)
    some = [loss_at(hidden, weight, TARGETS, places, epsilon, over) for places in CHOICES]
    assert {loss.count for loss in some} == {whole.count} == {6}
    for name in ("smoothed", "nll"):
        mean = torch.stack([getattr(loss, name) for loss in some]).mean()
        torch.testing.assert_close(mean, getattr(whole, name))
    expected = torch.autograd.grad(whole.smoothed, (hidden, weight))
    found = torch.autograd.grad(torch.stack([loss.smoothed for loss in some]).mean(), (hidden, weight))
    torch.testing.assert_close(found, expected)


def test_by_hand() -> None:
    """Three times the first token's loss, twice the second's, once the only one's."""
    hidden, weight = made_up()
    found = loss_at(hidden, weight, TARGETS, torch.tensor([0, 1, 0]))
    log_p = (hidden @ weight.T).log_softmax(dim=-1)
    assert found.nll.item() == pytest.approx(-(3 * log_p[0, 0, 5] + 2 * log_p[1, 1, 3] + log_p[2, 0, 3]).item())


def test_its_variance_is_larger_by_that_of_the_choice() -> None:
    """Var(one) = Var(all) + E[Var(one | sentence)], over each of three sentences as the batch of an update."""
    hidden, weight = (tensor.detach() for tensor in made_up())
    whole, one, within = [], [], []
    for row in range(3):
        alone = hidden[row : row + 1], weight, TARGETS[row : row + 1]
        length = int((TARGETS[row] != 0).sum())
        drawn = torch.stack([loss_at(*alone, torch.tensor([place])).nll for place in range(length)])
        whole.append(label_smoothed_cross_entropy(*alone).nll)
        one.append((drawn.mean(), (drawn**2).mean()))
        within.append(drawn.var(correction=0))
    first, second = (torch.stack(side).mean() for side in zip(*one, strict=True))
    var_one, var_all = second - first**2, torch.stack(whole).var(correction=0)
    torch.testing.assert_close(var_one, var_all + torch.stack(within).mean())
    assert var_one > 1.05 * var_all


def test_each_position_is_as_likely() -> None:
    """600 draws of one of three, within five standard deviations; padding never."""
    hidden, weight = (tensor.detach() for tensor in made_up())
    alone = hidden[:1, [0, 1, 2, 0]], weight, torch.tensor([[5, 6, 3, 0]])
    values = [float(loss_at(*alone, torch.tensor([place])).nll) for place in range(3)]
    torch.manual_seed(3)
    found = [float(one_position_loss(*alone).nll) for _ in range(600)]
    counts = [sum(value == pytest.approx(wanted) for value in found) for wanted in values]
    assert sum(counts) == 600
    assert all(abs(count - 200) < 58 for count in counts)


class TestInTraining:
    ONE = training_config({"positions": "one"})

    @pytest.mark.parametrize("training", [False, True], ids=["eval mode", "training mode"])
    def test_validations_read_all_positions(self, *, training: bool) -> None:
        """So does whoever asks for the loss of a batch, in either mode; updates read one position a sentence."""
        model, batch = tiny_model().train(training), batch_of(PAIRS)
        whole = compute_loss(model, batch, training_config())
        torch.testing.assert_close(compute_loss(model, batch, self.ONE), whole)
        objective = task_of(model).objective(self.ONE)
        torch.manual_seed(2)
        losses = [objective.training_loss(model, batch, update)[0] for update in range(1, 6)]
        assert {loss.count for loss in losses} == {whole.count}
        assert len({round(float(loss.nll), 6) for loss in losses}) > 1
        (of_all, _) = task_of(model).objective(training_config()).training_loss(model, batch, 1)
        torch.testing.assert_close(of_all, whole)

    def test_an_unlucky_position_is_no_divergence(self, tmp_path: Path) -> None:
        """One token may well be twice as hard as guessing."""
        made = toy(tmp_path, {"positions": "one", "warmup_steps": 1})
        made.model.embed_target.weight.data *= 1000
        assert made.trainer.run(batch_at, held_out_loss).reason == "max_updates"

    def test_a_run_is_a_function_of_its_seed(self, tmp_path: Path) -> None:
        runs = [toy(tmp_path / str(number), {"positions": "one"}) for number in range(2)]
        for number, made in enumerate(runs):
            torch.manual_seed(number)
            made.trainer.run(batch_at, held_out_loss)
        other = toy(tmp_path / "all")
        other.trainer.run(batch_at, held_out_loss)
        assert torch.equal(runs[0].weights(), runs[1].weights())
        assert not torch.equal(runs[0].weights(), other.weights())
