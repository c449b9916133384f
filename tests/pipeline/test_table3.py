"""Parameter counts against closed forms and the paper's printed column."""

import pytest

from heedful.pipeline.paper_table3 import ROWS, table3

VOCABULARY = 37_000
D, F, N = 512, 2048, 6


def closed_form(d: int = D, f: int = F, n: int = N, keys: int = D, values: int = D) -> int:
    """Projections without bias, two affine maps in the feed-forward network, gain and bias in norms, one embedding."""
    attention = 2 * d * keys + 2 * d * values
    feed_forward = 2 * d * f + f + d
    norm = 2 * d
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return n * (encoder + decoder) + VOCABULARY * d


COUNTS = {count.row: count for count in table3(VOCABULARY)}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("base", closed_form()),
        ("(A) h=1", closed_form()),
        ("(A) h=32", closed_form()),
        ("(B) d_k=16", closed_form(keys=8 * 16)),
        ("(C) N=2", closed_form(n=2)),
        ("(C) N=8", closed_form(n=8)),
        ("(C) d_model=256", closed_form(d=256, keys=256, values=256)),
        ("(C) d_model=1024", closed_form(d=1024, keys=1024, values=1024)),
        ("(C) d_ff=4096", closed_form(f=4096)),
        ("big", closed_form(d=1024, f=4096, keys=1024, values=1024)),
    ],
)
def test_counts(row: str, expected: int) -> None:
    assert COUNTS[row].parameters == expected


def test_learned_positions_add_one_row_a_position_and_side() -> None:
    assert COUNTS["(E) learned positions"].difference == 2 * 1024 * D


@pytest.mark.parametrize("row", [row for row, _, paper in ROWS if paper is not None and row not in {"base", "big"}])
def test_differences_agree_with_the_paper(row: str) -> None:
    """To the rounding of two printed numbers; where d_model differs, the paper's unknown vocabulary counts as well."""
    count = COUNTS[row]
    assert count.paper_difference is not None
    tolerance = 3.0 if "d_model" in row else 1.0
    assert count.difference / 1e6 == pytest.approx(count.paper_difference, abs=tolerance)


def test_differences_are_to_the_base_row() -> None:
    for count in COUNTS.values():
        assert count.difference == count.parameters - COUNTS["base"].parameters
