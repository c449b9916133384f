"""The place that local-p predicts, and local-m: a window without a Gaussian. (Its weights are in test_normalise.py.)"""

import torch

from heedful.attention import LocalP, Mask, PositionPredictor, attend, dot


def test_place_by_hand() -> None:
    """W = [[1, 0]], v = [2], h = [atanh(1/2), 9]: (S - 1) sigmoid(1)."""
    predict = PositionPredictor(2, 1)
    with torch.no_grad():
        predict.inner.weight.copy_(torch.tensor([[1.0, 0.0]]))
        predict.outer.weight.fill_(2.0)
    query = torch.tensor([[[0.5493061443, 9.0]]]).expand(2, 1, 2)
    found = predict(query, torch.tensor([10, 5]))
    torch.testing.assert_close(found, torch.tensor([[9.0], [4.0]]) * 0.7310585786)


def test_places_stay_in_the_memory_of_each_sentence() -> None:
    torch.manual_seed(0)
    query, lengths = 30 * torch.randn(3, 50, 4), torch.tensor([9, 4, 1])
    found = PositionPredictor(4, 6)(query, lengths)
    assert (found >= 0).all()
    assert (found <= lengths[:, None] - 1).all()
    assert not found[2].any()


def test_the_gradient_comes_through_the_gaussian_to_the_predictor() -> None:
    torch.manual_seed(0)
    predict, query = PositionPredictor(4, 6).double(), torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(2, 1, 8, 4, dtype=torch.float64)

    def context(query: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        local = LocalP(predict(query, torch.tensor([8, 6])), 2)
        return attend(query[:, None], memory, memory, score=dot, normalise=local).context

    assert torch.autograd.gradcheck(context, (query, *predict.parameters()))


def test_local_m_is_softmax_in_a_window() -> None:
    """p_t = t: equal scores give 1 / (keys in the window), and a window over everything is global attention."""
    query = torch.zeros(1, 1, 4, 2)
    key = torch.zeros(1, 1, 6, 2)
    window = Mask.around(torch.arange(4), 1, 6)
    weights = attend(query, key, key, score=dot, mask=window).weights
    assert weights is not None
    third = 1 / 3
    expected = [[0.5, 0.5, 0, 0, 0, 0], [third] * 3 + [0] * 3, [0, *[third] * 3, 0, 0], [0, 0, *[third] * 3, 0]]
    torch.testing.assert_close(weights[0, 0], torch.tensor(expected))
    assert Mask.around(torch.arange(4), 6, 6).visible.all()
