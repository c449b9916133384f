"""Mean and maximum over real places."""

import torch

from heedful.layers.masked_pooling import masked_max, masked_mean

H = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [50.0, 50.0]], [[7.0, 7.0]] * 3], dtype=torch.float64)
MASK = torch.tensor([[True, True, False], [False, False, False]])


def test_by_hand() -> None:
    """Also where all are negative; a row without places gives zeros."""
    assert masked_mean(H, MASK).tolist() == [[2.0, -3.0], [0.0, 0.0]]
    assert masked_max(H, MASK).tolist() == [[3.0, -2.0], [0.0, 0.0]]


def test_gradients_by_finite_differences() -> None:
    h = H.clone().requires_grad_()
    for summary in (masked_mean, masked_max):
        assert torch.autograd.gradcheck(lambda h, summary=summary: summary(h, MASK), (h,))
        (gradient,) = torch.autograd.grad(summary(h, MASK).sum(), h)
        assert not gradient[~MASK].any()
