"""Linear maps for inference: each precision against arithmetic in float64, and rows that do not see each other."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import heedful.layers.inference_linear as product
from heedful.errors import ConfigError
from heedful.layers.inference_linear import FEW_ROWS, LEVELS, Precision, inference_map, quantise_rows, usual_size

EVERY_PRECISION = pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
ROWS = [1, FEW_ROWS - 1, FEW_ROWS, 17]


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def exact(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    y = x.double() @ weight.double().T
    return y if bias is None else y + bias.double()


@pytest.mark.parametrize("n_rows", ROWS)
@pytest.mark.parametrize("biased", [True, False])
class TestAgainstFloat64:
    def test_float32(self, n_rows: int, biased: bool) -> None:
        x, weight, bias = drawn(n_rows, 37), drawn(21, 37, seed=1), drawn(21, seed=2) if biased else None
        found = inference_map(weight, bias, "float32")(x)
        torch.testing.assert_close(found, exact(x, weight, bias).float(), rtol=1e-5, atol=1e-5)

    def test_bfloat16_rounds_the_operands_and_the_product(self, n_rows: int, biased: bool) -> None:
        x, weight, bias = drawn(n_rows, 37), drawn(21, 37, seed=1), drawn(21, seed=2) if biased else None
        found = inference_map(weight, bias, "bfloat16")(x)
        expected = exact(x.bfloat16(), weight.bfloat16(), None)
        assert found.dtype == torch.float32
        without = found if bias is None else found - bias
        assert ((without - expected).abs() <= expected.abs() * 2**-8 + 1e-4).all()  # 8 bits: half a unit is 2^-9

    def test_int8_is_the_sum_of_products_of_integers(self, n_rows: int, biased: bool) -> None:
        x, weight, bias = drawn(n_rows, 37), drawn(21, 37, seed=1), drawn(21, seed=2) if biased else None
        found = inference_map(weight, bias, "int8")(x)
        (left, left_scale), (right, right_scale) = quantise_rows(x), quantise_rows(weight)
        sums = left.long()[:, None, :] * right.long()[None]
        expected = sums.sum(dim=2) * left_scale.double() * right_scale.double().T
        torch.testing.assert_close(found.double(), expected + (0 if bias is None else bias), rtol=1e-5, atol=1e-5)
        # Each of 37 terms is off by at most half a step of either operand.
        step = left_scale.double() * weight.abs().sum(1) + right_scale.double().T * x.abs().sum(1)[:, None]
        assert ((found - exact(x, weight, bias)).abs() <= step).all()


@EVERY_PRECISION
@pytest.mark.parametrize("shape", [(37,), (1, 37), (2, 9, 37), (3, 1, 37)])
def test_any_number_of_axes(precision: Precision, shape: tuple[int, ...]) -> None:
    made = inference_map(drawn(21, 37), drawn(21), precision)
    x = drawn(*shape)
    assert made(x).shape == (*shape[:-1], 21)
    torch.testing.assert_close(made(x).reshape(-1, 21), made(x.reshape(-1, 37)))


@EVERY_PRECISION
@pytest.mark.parametrize("biased", [True, False])
def test_some_outputs_only(precision: Precision, biased: bool) -> None:
    made, ids = inference_map(drawn(21, 37), drawn(21) if biased else None, precision), torch.tensor([3, 0, 20, 3])
    x = drawn(9, 37, seed=3)
    torch.testing.assert_close(made.among(ids)(x), made(x)[:, ids])


@given(
    n_rows=st.integers(1, 40), row=st.integers(0, 39), seed=st.integers(0, 9), factor=st.sampled_from([1e-3, 1.0, 1e4])
)
@settings(max_examples=30, deadline=None)
def test_an_int8_row_is_the_same_to_the_bit_whatever_stands_beside_it(
    n_rows: int, row: int, seed: int, factor: float
) -> None:
    made = inference_map(drawn(50, 64), drawn(50), "int8")
    alone = drawn(1, 64, seed=seed)
    crowd = factor * drawn(n_rows, 64, seed=seed + 1)
    crowd[row % n_rows] = alone
    assert torch.equal(made(crowd)[row % n_rows], made(alone)[0])


class TestSizes:
    def test_by_hand(self) -> None:
        found = [usual_size(n) for n in (1, 2, 15, 16, 17, 18, 31, 33, 64, 65, 100, 128, 129, 275)]
        assert found == [1, 2, 15, 16, 18, 18, 32, 36, 64, 72, 104, 128, 144, 288]

    def test_few_and_never_far(self) -> None:
        sizes = [usual_size(n) for n in range(1, 4097)]
        assert all(n <= size <= n * 9 / 8 for n, size in enumerate(sizes, start=1))
        assert sizes == sorted(sizes)
        assert len(set(sizes)) == 16 + 8 * 8  # from 16 to 4096 are 8 doublings

    @EVERY_PRECISION
    @pytest.mark.parametrize("n_rows", [5, 16, 17, 33, 70])
    def test_rows_and_outputs_beside_them_change_nothing(self, precision: Precision, n_rows: int) -> None:
        """As many rows, or outputs, as are computed anyway, and one by one."""
        weight, x = drawn(200, 37), drawn(n_rows, 37, seed=1)
        made = inference_map(weight, None, precision)
        torch.testing.assert_close(made(x), torch.cat([made(row[None]) for row in x]), rtol=1e-4, atol=1e-4)
        ids = torch.arange(n_rows).flip(0)
        torch.testing.assert_close(made.among(ids)(x), made(x)[:, ids], rtol=1e-4, atol=1e-4)


class TestQuantised:
    def test_by_hand(self) -> None:
        integers, scale = quantise_rows(torch.tensor([[2.54, -1.27, 0.02, 0.0], [0.0, 0.0, 0.0, 0.0]]))
        assert integers.tolist() == [[127, -64, 1, 0], [0, 0, 0, 0]]
        assert scale[0].item() == pytest.approx(0.02)

    @given(row=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9))
    def test_within_half_a_step(self, row: list[float]) -> None:
        x = torch.tensor([row])
        integers, scale = quantise_rows(x)
        assert integers.abs().max() <= LEVELS
        assert ((integers * scale - x).abs() <= scale * 0.5001).all()

    def test_zeros_stay_zeros(self) -> None:
        assert not inference_map(drawn(5, 8), None, "int8")(torch.zeros(2, 8)).any()

    @pytest.mark.parametrize("width", [64, 1024, 4096])
    def test_the_greatest_sums(self, width: int) -> None:
        found = inference_map(torch.ones(3, width), None, "int8")(torch.full((2, width), -5.0))
        torch.testing.assert_close(found, torch.full((2, 3), -5.0 * width))


class TestRefused:
    def test_int8_without_exact_products(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(product, "_int8_is_exact", lambda: False)
        with pytest.raises(ConfigError, match="no exact product of such integers") as caught:
            inference_map(drawn(3, 4), None, "int8")
        assert caught.value.hint == 'Use precision = "float32" or "bfloat16".'

    def test_int8_elsewhere_than_on_a_cpu(self) -> None:
        with pytest.raises(ConfigError, match='"int8" is for the CPU, but the model is on meta'):
            inference_map(torch.empty(3, 4, device="meta"), None, "int8")

    @pytest.mark.parametrize("wrong", [RuntimeError("no kernel"), None])
    def test_the_check_finds_missing_and_saturating_products(
        self, wrong: RuntimeError | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def saturating(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            if wrong is not None:
                raise wrong
            pairs = (left.int()[:, :, None] * right.int()[None]).unflatten(1, (-1, 2)).sum(dim=2)
            return pairs.clamp(-(2**15), 2**15 - 1).sum(dim=1, dtype=torch.int32) - 1

        assert product._int8_is_exact.__wrapped__()
        monkeypatch.setattr(product, "_integer_product", saturating)
        assert not product._int8_is_exact.__wrapped__()


@EVERY_PRECISION
def test_without_onednn(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch computes by itself where the packed kernel is not there."""
    x, weight, bias = drawn(9, 64), drawn(30, 64, seed=1), drawn(30, seed=2)
    tolerance = 2e-2 if precision == "bfloat16" else 1e-4
    fast = inference_map(weight, bias, precision)(x)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    plain = inference_map(weight, bias, precision)(x)
    torch.testing.assert_close(fast, plain, rtol=tolerance, atol=tolerance)
