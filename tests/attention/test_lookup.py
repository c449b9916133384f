"""Attention as a soft database query: four names, four ages, worked out by hand."""

import math

import pytest
import torch
from torch import Tensor

from heedful.attention import Cosine, Score, attend, dot, scaled_dot

KEYS = torch.tensor([[[[1, 2, 0], [1, 2, 0], [0, 0, 2], [1, 4, 0]]]], dtype=torch.float64)
AGES = torch.tensor([[[[18], [20], [22], [19]]]], dtype=torch.float64)
SURNAME = torch.tensor([[[[1, 0, 0]]]], dtype=torch.float64)
NAME = torch.tensor([[[[1, 2, 0]]]], dtype=torch.float64)


def look_up(query: Tensor, score: Score) -> tuple[float, list[float]]:
    context, weights = attend(query, KEYS, AGES, score=score)
    assert weights is not None
    return context.item(), weights[0, 0, 0].tolist()


def test_surname_by_dot_product() -> None:
    age, weights = look_up(SURNAME, dot)
    assert weights == pytest.approx([0.296923, 0.296923, 0.109232, 0.296923], abs=1e-6)
    assert age == pytest.approx((57 * math.e + 22) / (3 * math.e + 1), abs=1e-12)
    assert age == pytest.approx(19.327695, abs=1e-6)


def test_surname_by_scaled_dot_product() -> None:
    age, weights = look_up(SURNAME, scaled_dot)
    assert weights == pytest.approx([0.280790, 0.280790, 0.157631, 0.280790], abs=1e-6)
    assert age == pytest.approx(19.472892, abs=1e-6)


@pytest.mark.parametrize(("sharpness", "age"), [(2, 19.1295), (4, 19.0182), (8, 19.000335), (16, 19.0000001)])
def test_a_sharper_query_comes_closer_to_the_hard_answer(sharpness: float, age: float) -> None:
    assert look_up(SURNAME * sharpness, dot)[0] == pytest.approx(age, abs=5e-5)


def test_dot_product_is_not_equality() -> None:
    """Asked for the first name, a plain product finds the longer fourth key; the angle does not."""
    assert look_up(NAME, dot)[1][3] == pytest.approx(0.9645, abs=1e-4)
    _, by_angle = look_up(NAME, Cosine(temperature=0.05))
    assert by_angle[0] == by_angle[1] == max(by_angle)
