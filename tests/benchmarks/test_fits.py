"""Exponents against curves whose exponents are known."""

import pytest
from fits import fit_exponent


def test_exact_powers() -> None:
    found = fit_exponent([1, 2, 4, 8], [3, 12, 48, 192])
    assert found.exponent == pytest.approx(2)
    assert found.factor == pytest.approx(3)
    assert found.r2 == pytest.approx(1)


def test_a_constant_has_exponent_zero() -> None:
    assert fit_exponent([1, 10], [5, 5]).exponent == pytest.approx(0)


def test_by_hand_with_noise() -> None:
    """log2 y = 0, 1, 0 at log2 x = 0, 1, 2: no slope, and nothing explained."""
    found = fit_exponent([1, 2, 4], [1, 2, 1])
    assert found.exponent == pytest.approx(0)
    assert found.r2 == pytest.approx(0)


@pytest.mark.parametrize(("xs", "ys"), [([1, 1], [1, 2]), ([1, 2], [1]), ([2], [1])])
def test_too_little_is_refused(xs: list[float], ys: list[float]) -> None:
    with pytest.raises(ValueError, match="two different"):
        fit_exponent(xs, ys)


def test_zero_has_no_logarithm() -> None:
    with pytest.raises(ValueError, match="positive"):
        fit_exponent([1, 2], [0, 1])
