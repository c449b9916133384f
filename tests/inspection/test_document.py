"""A trace as JSON and back, exactly."""

import json

import numpy as np
import pytest
import torch
from tests.inspection.made_up import CJK, WORD

from heedful.errors import HeedfulError
from heedful.inspection.document import shortest, trace_from_tree, trace_to_tree


def test_there_and_back_is_the_same_to_the_bit() -> None:
    back = trace_from_tree(json.loads(json.dumps(trace_to_tree(CJK))))
    assert back._replace(maps=[]) == CJK._replace(maps=[])
    for a, b in zip(CJK.maps, back.maps, strict=True):
        assert a.name == b.name
        assert torch.equal(a.weights, b.weights)
        assert torch.equal(a.mask, b.mask)


def test_texts_travel_and_may_be_missing() -> None:
    told = WORD._replace(source_text="heedful", output_text="HH IY D F AH L")
    tree = trace_to_tree(told)
    assert trace_from_tree(tree)[-2:] == ("heedful", "HH IY D F AH L")
    del tree["source_text"], tree["output_text"]  # as earlier versions wrote it
    assert trace_from_tree(tree)[-2:] == ("", "")


def test_the_keys_are_those_promised() -> None:
    tree = trace_to_tree(WORD)
    assert list(tree) == ["source", "consumed", "predicted", "log_p", "maps", "source_text", "output_text"]
    assert list(tree["maps"][0]) == ["name", "heads", "weights", "mask"]
    assert tree["maps"][0]["heads"] == 2


def test_numbers_are_as_short_as_float32_allows() -> None:
    assert shortest(torch.tensor([0.1, 1.0, 1e-8])) == [0.1, 1.0, 1e-08]
    assert np.float32(shortest(torch.tensor(1 / 3))) == np.float32(1 / 3)


def test_a_missing_key_is_named() -> None:
    tree = trace_to_tree(WORD)
    del tree["log_p"]
    with pytest.raises(HeedfulError, match=r"The trace has no 'log_p'\."):
        trace_from_tree(tree)


@pytest.mark.parametrize("change", [{"consumed": ["<s>"]}, {"source": 3}])
def test_what_is_no_trace_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(HeedfulError, match="This is no trace: "):
        trace_from_tree({**trace_to_tree(WORD), **change})
