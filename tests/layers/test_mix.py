"""A mix of layers: its equation, its start and its gradients."""

import torch
from torch import Tensor, nn

from heedful.layers.mix import LayerMix


class TestLayerMix:
    def layers(self) -> Tensor:
        return torch.randn(3, 2, 5, 4, generator=torch.Generator().manual_seed(5))

    def test_starts_as_the_mean(self) -> None:
        torch.testing.assert_close(LayerMix(3)(self.layers()), self.layers().mean(0))

    def test_equals_the_equation(self) -> None:
        mix = LayerMix(3)
        nn.init.normal_(mix.scores)
        nn.init.constant_(mix.gamma, 1.7)
        s = mix.scores.softmax(-1)
        expected = 1.7 * sum(s[i] * layer for i, layer in enumerate(self.layers()))
        torch.testing.assert_close(mix(self.layers()), expected)

    def test_gradients_by_finite_differences(self) -> None:
        mix = LayerMix(3).double()
        layers = self.layers().double().requires_grad_()
        assert torch.autograd.gradcheck(lambda x, *_: mix(x), (layers, *mix.parameters()), fast_mode=True)
