"""CONTRIBUTING.md's example works as it stands: a score in one function, used in every slot, tested by hand."""

import re
import textwrap

import torch
from jaxtyping import Float
from tests.house.source import ROOT
from torch import Tensor

from heedful.attention import MultiHeadAttention, attend


def test_a_new_score_works_everywhere() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    score, test = (textwrap.dedent(block) for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    scope = {"torch": torch, "Float": Float, "Tensor": Tensor}
    exec(score, scope)
    exec(test, scope)
    scope["test_euclidean_by_hand"]()
    query = torch.randn(2, 3, 4, 5)
    assert attend(query, query, query, score=scope["euclidean"]).context.shape == query.shape
    attention = MultiHeadAttention(8, 2, score=scope["euclidean"])
    x = torch.randn(2, 4, 8)
    assert attention(x, attention.project(x)).output.shape == x.shape
