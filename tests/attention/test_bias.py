"""A bias on the scores: by hand, in both paths, with every mask, and with its own gradient."""

import importlib.machinery
import importlib.util
from types import ModuleType

import pytest
import torch
from tests.attention.tables import MASKS, B, H, S, T, inputs
from torch import Tensor

import heedful.attention.core
from heedful.attention import (
    Mask,
    MultiHeadAttention,
    Sample,
    TopK,
    attend,
    attend_drawn,
    dot,
    fused_attention,
    scaled_dot,
)
from heedful.attention.aggregate import GatherTop
from heedful.attention.core import quickest_attention
from heedful.attention.relative import RelativePositions

EVERY_MASK = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
SHAPES = {
    "table": (B, H, T, S),
    "one for all sentences": (1, H, T, S),
    "one a key": (1, 1, 1, S),
    "one a head": (1, H, 1, 1),
}
EVERY_SHAPE = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


def bias_of(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64).to(dtype)
    return made.requires_grad_()


def explicit(query: Tensor, key: Tensor, value: Tensor, **slots) -> Tensor:
    return attend(query, key, value, score=scaled_dot, **slots).context


def fused(query: Tensor, key: Tensor, value: Tensor, **slots) -> Tensor:
    return fused_attention(query, key, value, **slots).context


def test_by_hand() -> None:
    """Scores 0 and 0, to which ln 3 is added for the first key: 3 to 1."""
    zero, value = torch.zeros(1, 1, 1, 2), torch.tensor([[[[1.0], [5.0]]]])
    bias = torch.tensor([[[[3.0, 1.0]]]]).log()
    for path in (explicit, fused):
        context = path(zero, torch.zeros(1, 1, 2, 2), value, bias=bias)
        torch.testing.assert_close(context, torch.tensor([[[[0.75 * 1 + 0.25 * 5]]]]))


@EVERY_MASK
@EVERY_SHAPE
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12), (torch.bfloat16, 4e-2)], ids=str
)
def test_both_paths_agree_forward_and_backward(
    mask: Mask | None, shape: tuple[int, ...], dtype: torch.dtype, tolerance: float
) -> None:
    """The context, and the gradients of query, key, value and bias."""
    found = []
    for path in (fused, explicit):
        leaves = [*inputs(dtype=dtype), bias_of(shape, dtype)]
        context = path(*leaves[:3], mask=mask, bias=leaves[3])
        slope = torch.linspace(-1, 1, context.numel(), dtype=dtype).view(context.shape)
        found.append([context, *torch.autograd.grad((context * slope).sum(), leaves)])
    for one, other in zip(*found, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


@EVERY_MASK
def test_equals_a_score_that_holds_it(mask: Mask | None) -> None:
    query, key, value = inputs(dtype=torch.float64)
    bias = bias_of((1, H, T, S), torch.float64)
    within = attend(query, key, value, score=lambda q, k: scaled_dot(q, k) + bias, mask=mask)
    beside = attend(query, key, value, score=scaled_dot, mask=mask, bias=bias)
    assert torch.equal(beside.context, within.context)
    assert beside.weights is not None
    assert torch.equal(beside.weights, within.weights)


@pytest.mark.parametrize("path", [fused, explicit])
def test_rows_that_see_nothing_read_zeros_with_zero_gradient(path) -> None:
    query, key, value = inputs()
    bias = bias_of((B, H, T, S))
    context = path(query, key, value, mask=MASKS["empty rows"], bias=bias)
    gradients = torch.autograd.grad(context.square().sum(), (query, key, value, bias))
    assert not context[1, :, 2].any()
    assert not context[2].any()
    assert all(gradient.isfinite().all() for gradient in gradients)
    for gradient in (gradients[0], gradients[3]):
        assert not gradient[1, :, 2].any()
        assert not gradient[2].any()
        assert gradient[0].any()


@pytest.mark.parametrize("path", [fused, explicit])
@pytest.mark.parametrize("mask", [None, MASKS["key padding"]], ids=["no mask", "masked"])
def test_one_that_does_not_fit_is_refused_by_name(path, mask: Mask | None) -> None:
    message = rf"A bias of shape \[1, {H}, {T}, {S + 1}\] does not fit scores of shape \[{B}, {H}, {T}, {S}\]\."
    with pytest.raises(ValueError, match=message):
        path(*inputs(), bias=torch.zeros(1, H, T, S + 1), mask=mask)


def test_one_of_other_dimensions_is_refused_by_name() -> None:
    """As it is outside tests, where no hook checks shapes before: [T S] would be taken for heads or sentences."""
    path = heedful.attention.core.__file__
    loader = importlib.machinery.SourceFileLoader("unchecked_core", path)
    spec = importlib.util.spec_from_loader("unchecked_core", loader)
    assert spec is not None
    unchecked: ModuleType = importlib.util.module_from_spec(spec)
    loader.exec_module(unchecked)
    with pytest.raises(ValueError, match=rf"A bias of shape \[{T}, {S}\] does not fit"):
        unchecked.attend(*inputs(), score=scaled_dot, bias=torch.zeros(T, S))
    with pytest.raises(ValueError, match=rf"A bias of shape \[{T}, {S}\] does not fit"):
        unchecked.fused_attention(*inputs(), bias=torch.zeros(T, S))


def seen_by_the_kernel(monkeypatch: pytest.MonkeyPatch, n_keys: int, mask: Mask | None) -> Tensor | None:
    """The mask that torch's kernel gets from the fused path, without a bias and without dropout."""
    seen = []

    def kernel(query: Tensor, *_: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0) -> Tensor:
        seen.append(attn_mask)
        return query

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", kernel)
    query, key, value = (torch.zeros(B, H, length, 4) for length in (T, n_keys, n_keys))
    fused_attention(query, key, value, mask=mask)
    (given,) = seen
    return given


@pytest.mark.parametrize("mask", [mask for mask in MASKS.values() if mask is not None])
def test_without_one_the_kernel_gets_a_bool_mask(mask: Mask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of numbers would be slower."""
    given = seen_by_the_kernel(monkeypatch, S, mask)
    assert given is not None
    assert torch.equal(given, mask.visible.expand_as(given))


@pytest.mark.parametrize("n_keys", [16, 17, 40])
def test_without_one_and_a_mask_the_kernel_gets_neither(n_keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen_by_the_kernel(monkeypatch, n_keys, None) is None


@pytest.mark.parametrize("n_keys", [1, S, 15])
def test_of_few_keys_the_kernel_gets_a_table_of_zeros(n_keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any it would lose rows of NaN; the bias changes no number."""
    given = seen_by_the_kernel(monkeypatch, n_keys, None)
    assert given is not None
    assert given.shape[2:] == (T, n_keys)
    assert given.dtype == torch.float32
    assert not given.any()


@pytest.mark.parametrize("path", ["fused", "explicit"])
def test_the_mean_over_many_draws_of_dropout_is_the_context_without(path: str) -> None:
    torch.manual_seed(0)
    query, key, value = (part.detach()[:1, :1] for part in inputs())
    bias = bias_of((1, 1, T, S)).detach()
    many = [part.expand(4000, 1, -1, -1) for part in (query, key, value)]
    if path == "fused":
        context = fused_attention(*many, bias=bias, dropout=0.3).context
    else:
        context = attend(*many, score=scaled_dot, bias=bias, dropout=0.3).context
    plain = attend(query, key, value, score=scaled_dot, bias=bias).context
    torch.testing.assert_close(context.mean(0), plain[0], atol=0.05, rtol=0)
    assert context.std(0).mean() > 0.1


def test_other_slots_see_the_biased_scores() -> None:
    """The two best keys are those of the sums; the kernel is left where something else than a sum is made of values."""
    query, key, value = inputs(dtype=torch.float64)
    bias = torch.zeros(1, 1, 1, S, dtype=torch.float64)
    bias[..., 3], bias[..., 5] = 1e3, 2e3
    read = quickest_attention(query, key, value, score=dot, normalise=TopK(2), bias=bias)
    assert read.weights is not None
    assert not read.weights[..., [0, 1, 2, 4]].any()
    gathered = quickest_attention(query, key, value, score=scaled_dot, aggregate=GatherTop(1), bias=bias)
    torch.testing.assert_close(gathered.context, value[:, :, 5:].expand(-1, -1, T, -1))
    drawn = attend_drawn(query, key, value, score=dot, normalise=Sample(torch.Generator()), bias=bias)
    assert drawn.weights[..., 5].all()


class Told(RelativePositions):
    """A bias for the key that stands one before the query, and keys that are scaled by their position."""

    def rotate(self, x: Tensor, first: int) -> Tensor:
        return x * torch.arange(first, first + x.shape[2])[:, None]

    def bias(self, query: Tensor, n_keys: int) -> Tensor:
        behind = torch.arange(n_keys) - torch.arange(n_keys - query.shape[2], n_keys)[:, None] == -1
        return 50.0 * behind[None, None]


class TestInHeads:
    def attention(self) -> MultiHeadAttention:
        torch.manual_seed(0)
        return MultiHeadAttention(8, 2)

    def test_queries_stand_at_the_last_positions(self) -> None:
        """A whole sequence at once, or one query after the other on keys that are appended: the same."""
        attention, relative, x = self.attention(), Told(), torch.randn(2, 5, 8)
        whole = attention(x, attention.project(x, relative), Mask.causal(5, 5, offset=0), relative=relative).output
        written = attention.project(x[:, :1], relative)
        for position in range(1, 5):
            now = x[:, position : position + 1]
            written = written.append(attention.project(now, relative, first=written.length))
            step = attention(now, written, relative=relative).output
            torch.testing.assert_close(step, whole[:, position : position + 1])

    def test_asking_for_weights_changes_no_number(self) -> None:
        attention, relative, x = self.attention(), Told(), torch.randn(2, 5, 8)
        key_value = attention.project(x, relative)
        for mask in (None, Mask.causal(5, 5, offset=0)):
            asked = attention(x, key_value, mask, relative=relative, weights=True)
            torch.testing.assert_close(attention(x, key_value, mask, relative=relative).output, asked.output)
            assert asked.weights is not None
            assert (asked.weights[:, :, 1:].diagonal(dim1=2, dim2=3) > 0.7).all()

    def test_more_queries_than_keys_are_no_self_attention(self) -> None:
        attention, x = self.attention(), torch.randn(2, 5, 8)
        with pytest.raises(ValueError, match="`relative` is of self-attention, but 5 queries read 4 keys"):
            attention(x, attention.project(x[:, :4]), relative=Told())
