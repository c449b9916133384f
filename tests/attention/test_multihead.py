"""Multi-head attention against torch's on copied weights, against separate heads, and as a memory that grows."""

from copy import deepcopy

import pytest
import torch
from tests.attention.tables import MASKS, REAL, B, S, T
from torch import Tensor, nn

from heedful.attention import Additive, Mask, MultiHeadAttention

D, H = 12, 2


def query_and_memory() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(B, T, D, generator=generator), torch.randn(B, S, D, generator=generator)


def twins(bias: bool, n_heads: int = H) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Ours and torch's, with the same numbers."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(D, n_heads, bias=bias)
    theirs = nn.MultiheadAttention(D, n_heads, bias=bias, batch_first=True)
    parts = (ours.project_query, ours.project_key, ours.project_value)
    with torch.no_grad():
        for parameter in ours.parameters():
            if parameter.dim() == 1:
                parameter.normal_()
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.out_proj.weight.copy_(ours.project_out.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            theirs.out_proj.bias.copy_(ours.project_out.bias)
    return ours, theirs


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("n_heads", [1, 2, 6])
class TestEqualsTorch:
    def test_output_weights_and_gradients(self, bias: bool, n_heads: int) -> None:
        ours, theirs = twins(bias, n_heads)
        query, memory = query_and_memory()
        read = ours(query, ours.project(memory), Mask.key_padding(REAL), weights=True)
        output, weights = theirs(query, memory, memory, key_padding_mask=~REAL, average_attn_weights=False)
        torch.testing.assert_close(read.output, output)
        torch.testing.assert_close(read.weights, weights)
        read.output.square().sum().backward()
        output.square().sum().backward()
        parts = (ours.project_query, ours.project_key, ours.project_value)
        joined = torch.cat([part.weight.grad for part in parts])
        torch.testing.assert_close(joined, theirs.in_proj_weight.grad, atol=1e-5, rtol=1e-5)

    def test_causal(self, bias: bool, n_heads: int) -> None:
        ours, theirs = twins(bias, n_heads)
        x, _ = query_and_memory()
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1)  # torch: True = hidden
        output, _ = theirs(x, x, x, attn_mask=hidden)
        torch.testing.assert_close(ours(x, ours.project(x), Mask.causal(T, T, offset=0)).output, output)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_asking_for_weights_changes_no_number(mask: Mask | None, training: bool) -> None:
    """The fused path, forward and backward, in both modes, is the explicit path."""
    ours, _ = twins(bias=True)
    ours.train(training)
    found = []
    for weights in (False, True):
        query, memory = query_and_memory()
        read = ours(query.requires_grad_(), ours.project(memory.requires_grad_()), mask, weights=weights)
        assert (read.weights is None) is not weights
        found.append([read.output, *torch.autograd.grad(read.output.pow(3).sum(), [query, memory, *ours.parameters()])])
    for fused, explicit in zip(*found, strict=True):
        torch.testing.assert_close(fused, explicit, atol=1e-4, rtol=1e-4)


def test_bfloat16_is_near() -> None:
    ours, _ = twins(bias=True)
    query, memory = query_and_memory()
    exact = ours(query, ours.project(memory)).output
    ours, query, memory = ours.bfloat16(), query.bfloat16(), memory.bfloat16()
    for weights in (True, False):
        near = ours(query, ours.project(memory), weights=weights).output
        assert near.dtype == torch.bfloat16
        torch.testing.assert_close(near.float(), exact, atol=0.05, rtol=0.05)


def test_heads_are_separate_projections() -> None:
    """One matrix that is split after the product, or H small ones: the same map, joined on the feature axis."""
    ours, _ = twins(bias=False)
    query, memory = query_and_memory()
    heads = []
    for rows in torch.arange(D).chunk(H):
        q = query @ ours.project_query.weight[rows].T
        k = memory @ ours.project_key.weight[rows].T
        v = memory @ ours.project_value.weight[rows].T
        heads.append((q @ k.mT / (D // H) ** 0.5).softmax(-1) @ v)
    expected = torch.cat(heads, dim=-1) @ ours.project_out.weight.T
    torch.testing.assert_close(ours(query, ours.project(memory)).output, expected)


def test_widths_of_keys_and_values_may_be_chosen() -> None:
    attention = MultiHeadAttention(10, 3, d_k=2, d_v=5)
    memory = attention.project(torch.randn(1, 4, 10))
    assert memory.key.shape == (1, 3, 4, 2)
    assert memory.value.shape == (1, 3, 4, 5)
    assert attention(torch.randn(1, 7, 10), memory).output.shape == (1, 7, 10)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 12])
def test_more_heads_are_smaller_heads_not_more_parameters(n_heads: int) -> None:
    assert sum(p.numel() for p in MultiHeadAttention(D, n_heads).parameters()) == 4 * D * D


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match=r"`n_heads` must divide `d_model` \(10\), but is 4."):
        MultiHeadAttention(10, 4)


def test_a_memory_may_grow_and_be_reordered() -> None:
    """Appending position by position gives the projection of the whole; reordered rows are the rows, reordered."""
    ours, _ = twins(bias=True)
    _, memory = query_and_memory()
    whole = ours.project(memory)
    grown = ours.project(memory[:, :1])
    for position in range(1, S):
        grown = grown.append(ours.project(memory[:, position : position + 1]))
    torch.testing.assert_close(grown.key, whole.key)
    torch.testing.assert_close(grown.value, whole.value)
    rows = torch.tensor([2, 0, 0])
    assert torch.equal(whole.reorder(rows).key, whole.key[rows])
    assert torch.equal(whole.reorder(rows).value, whole.value[rows])


def test_another_score_takes_its_slot() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(D, H, score=Additive(D // H, D // H, 5))
    query, memory = query_and_memory()
    read = attention(query, attention.project(memory), Mask.key_padding(REAL), weights=True)
    assert read.weights is not None
    torch.testing.assert_close(read.weights.sum(-1), torch.ones(B, H, T))
    attention(query, attention.project(memory)).output.sum().backward()
    assert all(parameter.grad is not None for parameter in attention.parameters())


def test_dropout_is_for_training_only() -> None:
    attention = MultiHeadAttention(D, H, dropout=0.5)
    query, memory = query_and_memory()

    def twice() -> bool:
        first, second = (attention(query, attention.project(memory)).output for _ in range(2))
        return torch.equal(first, second)

    assert not twice()
    attention.eval()
    assert twice()


def test_the_same_word_in_two_contexts_has_two_vectors() -> None:
    ours, _ = twins(bias=False)
    word, left, right = torch.randn(3, D, generator=torch.Generator().manual_seed(2))
    contexts = torch.stack([torch.stack([word, left]), torch.stack([word, right])])
    first, second = ours(contexts, ours.project(contexts)).output[:, 0]
    assert not torch.allclose(first, second, atol=1e-3)


def test_a_copy_takes_the_fused_path_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def explicit(*_: object, **__: object) -> None:
        raise AssertionError("the explicit path was taken")

    attention = deepcopy(MultiHeadAttention(8, 2))
    monkeypatch.setattr("heedful.attention.multihead.attend", explicit)
    x = torch.randn(2, 3, 8)
    assert attention(x, attention.project(x)).output.shape == x.shape
