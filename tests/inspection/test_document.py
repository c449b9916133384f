"""A trace as JSON and back, exactly."""

import json

import numpy as np
import torch
from tests.inspection.made_up import CJK, WORD

from heedful.inspection.trace_json import shortest, trace_to_tree


def test_a_reader_of_json_gets_the_same_to_the_bit() -> None:
    tree = json.loads(json.dumps(trace_to_tree(CJK)))
    assert {key: value for key, value in tree.items() if key != "maps"} == {
        key: value for key, value in CJK._asdict().items() if key != "maps"
    }
    for read, shown in zip(tree["maps"], CJK.maps, strict=True):
        assert (read["name"], read["heads"]) == (shown.name, shown.n_heads)
        assert torch.equal(torch.tensor(read["weights"], dtype=torch.float32), shown.weights)
        assert torch.equal(torch.tensor(read["mask"]), shown.mask)


def test_the_keys_are_those_promised() -> None:
    tree = trace_to_tree(WORD)
    assert list(tree) == ["source", "consumed", "predicted", "log_p", "maps", "source_text", "output_text"]
    assert list(tree["maps"][0]) == ["name", "heads", "weights", "mask"]
    assert tree["maps"][0]["heads"] == 2


def test_numbers_are_as_short_as_float32_allows() -> None:
    assert shortest(torch.tensor([0.1, 1.0, 1e-8])) == [0.1, 1.0, 1e-08]
    assert np.float32(shortest(torch.tensor(1 / 3))) == np.float32(1 / 3)
