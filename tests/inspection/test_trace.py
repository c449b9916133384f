"""A trace is refused where its labels, shapes, masks or numbers do not belong together."""

import math

import pytest
import torch
from tests.inspection.made_up import WORD, made_up

from heedful.trace import Map, Trace, check_trace

CROSS = WORD.map("decoder.0.cross")


def with_map(found: Map) -> Trace:
    return WORD._replace(maps=[found])


def test_a_good_trace_is_returned_as_it_is() -> None:
    assert check_trace(WORD) is WORD


def test_names_are_taken_apart() -> None:
    found = WORD.map("decoder.1.self")
    assert (found.stack, found.layer, found.kind, found.n_heads) == ("decoder", 1, "decoder.self", 2)


def test_shapes_follow_the_kind() -> None:
    trace = made_up(["a", "b"], ["x", "y", "z"])
    assert [trace.shape(kind) for kind in ("encoder.self", "decoder.self", "decoder.cross")] == [(3, 3), (4, 4), (4, 3)]


def test_an_unknown_map_names_those_there_are() -> None:
    with pytest.raises(
        ValueError, match=r"`name` must be a map of this trace \(encoder.0.self, .*but is 'decoder.9.self'"
    ):
        WORD.map("decoder.9.self")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (WORD._replace(consumed=["<s>"]), r"`consumed` must be as long as `predicted` \(7\), but has 1\."),
        (WORD._replace(log_p=[0.0]), r"`log_p` must be as long as `predicted` \(7\), but has 1\."),
        (WORD._replace(log_p=[math.nan] * 7), r"`log_p` must hold numbers"),
        (
            WORD._replace(maps=[CROSS, CROSS]),
            r"`maps` must have different names, but `decoder.0.cross` is there 2 times",
        ),
        (with_map(CROSS._replace(name="encoder.0.cross")), r"`name` must be like .*, but is 'encoder.0.cross'"),
        (with_map(CROSS._replace(name="encoder.0.self")), r"weights must be \[H, 8, 8\], but are \[2, 7, 8\]"),
        (
            with_map(CROSS._replace(mask=CROSS.mask.float())),
            r"mask must be bool \[1 or 2, 7, 8\], but is torch.float32",
        ),
        (with_map(CROSS._replace(mask=CROSS.mask[:, 1:])), r"mask must be bool .*\[1, 6, 8\]"),
        (with_map(CROSS._replace(weights=CROSS.weights * math.inf)), r"weights must be finite"),
        (with_map(CROSS._replace(mask=~CROSS.mask)), r"a weight must be 0 where the mask forbids"),
    ],
)
def test_what_does_not_belong_together_is_refused(broken: Trace, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_trace(broken)


def test_an_empty_row_is_allowed() -> None:
    mask = CROSS.mask.clone()
    mask[:, 2] = False
    check_trace(with_map(CROSS._replace(weights=CROSS.weights * mask, mask=mask)))


def test_rows_need_not_sum_to_one() -> None:
    check_trace(with_map(CROSS._replace(weights=torch.sigmoid(CROSS.weights))))
