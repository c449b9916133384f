"""The coupled tensor score [Wang 2017]: two heads that read with their own prototype and with the other's."""

import torch
from torch import Tensor, nn

from heedful.attention import CoupledTensor, attend

B, S, D, K = 2, 4, 3, 2


def coupled(squash: bool = True) -> CoupledTensor:
    torch.manual_seed(0)
    return (CoupledTensor(D, K) if squash else CoupledTensor(D, K, squash=nn.Identity())).double()


def prototypes_and_words() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    u = torch.randn(B, 2, 1, D, generator=generator, dtype=torch.float64, requires_grad=True)
    h = torch.randn(B, 1, S, D, generator=generator, dtype=torch.float64).expand(B, 2, S, D)
    return u, h


def swapped(score: CoupledTensor) -> CoupledTensor:
    """The same numbers with the roles of the heads exchanged."""
    other = coupled()
    with torch.no_grad():
        for name in ("own", "other", "weight"):
            getattr(other, name).copy_(getattr(score, name).flip(0))
    for head in range(2):
        other.read[head].load_state_dict(score.read[1 - head].state_dict())
    return other


def test_features_are_the_bilinear_forms_written_out() -> None:
    """f_i = [tanh(h_i G_k u) for k] + [tanh(h_i D_k u') for k] is what the GRU reads; the code has no tanh."""
    for squash, bound in ((True, torch.tanh), (False, nn.Identity())):
        score, (u, h) = coupled(squash), prototypes_and_words()
        seen: list[Tensor] = []
        for gru in score.read:
            gru.register_forward_pre_hook(lambda _, inputs, seen=seen: seen.append(inputs[0]))
        score(u, h)
        for head in range(2):
            for b in range(B):
                for i in range(S):
                    word = h[b, head, i]
                    own = [word @ score.own[head, k] @ u[b, head, 0] for k in range(K)]
                    cross = [word @ score.other[head, k] @ u[b, 1 - head, 0] for k in range(K)]
                    torch.testing.assert_close(seen[head][b, i], bound(torch.stack([*own, *cross])))


def test_swapping_the_roles_swaps_the_outputs() -> None:
    score, (u, h) = coupled(), prototypes_and_words()
    torch.testing.assert_close(swapped(score)(u.flip(1), h).flip(1), score(u, h))


def test_without_the_other_forms_the_heads_ignore_each_other() -> None:
    score, (u, h) = coupled(), prototypes_and_words()
    (gradient,) = torch.autograd.grad(score(u, h)[:, 0].sum(), u)
    assert gradient[:, 1].any()
    nn.init.zeros_(score.other)
    (gradient,) = torch.autograd.grad(score(u, h)[:, 0].sum(), u)
    assert gradient[:, 0].any()
    assert not gradient[:, 1].any()


def test_padding_at_the_end_changes_nothing() -> None:
    score, (u, h) = coupled(), prototypes_and_words()
    longer = torch.cat([h, torch.full((B, 2, 3, D), 50.0, dtype=torch.float64)], dim=2)
    torch.testing.assert_close(score(u, longer)[..., :S], score(u, h))


def test_gradients_by_finite_differences() -> None:
    score, (u, h) = coupled(), prototypes_and_words()

    def context(u: Tensor, *_: Tensor) -> Tensor:
        return attend(u, h, h, score=score).context

    assert torch.autograd.gradcheck(context, (u, score.own, score.other, score.weight))
