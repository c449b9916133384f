"""CONTRIBUTING.md's example works as it stands: a score in one function, held to every law, tested by hand."""

import re
import textwrap

import pytest
import torch
from jaxtyping import Float
from tests.attention import test_scores
from tests.house.source import ROOT
from torch import Tensor

from heedful.attention import General, MultiHeadAttention, attend
from heedful.gallery.family import Member
from heedful.gallery.members import SOFTMAX, SUM

LAWS = [name for name in vars(test_scores.TestEveryScore) if name.startswith("test_")]


@pytest.fixture
def scope() -> dict:
    """What the page's blocks define, run in their order."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    score, entry, test, _ = (textwrap.dedent(block) for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    found = {"torch": torch, "Float": Float, "Tensor": Tensor, "General": General, "SCORES": {}}
    for block in (score, entry, test):
        exec(block, found)
    return found


def test_the_entry_of_a_member_is_one() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    *_, entry = (textwrap.dedent(block) for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    member = Member(*eval(entry, {"SOFTMAX": SOFTMAX, "SUM": SUM}))
    assert (member.name, member.page, member.symbols) == ("euclidean", "scores", ("attention.euclidean",))


def test_a_new_score_works_everywhere(scope: dict) -> None:
    scope["test_euclidean_by_hand"]()
    query = torch.randn(2, 3, 4, 5)
    assert attend(query, query, query, score=scope["euclidean"]).context.shape == query.shape
    attention = MultiHeadAttention(8, 2, score=scope["euclidean"])
    x = torch.randn(2, 4, 8)
    assert attention(x, attention.project(x)).output.shape == x.shape


@pytest.mark.parametrize("law", LAWS)
def test_it_is_held_to_the_laws(scope: dict, law: str) -> None:
    getattr(test_scores.TestEveryScore(), law)(scope["SCORES"]["euclidean"])


def test_there_are_laws() -> None:
    assert len(LAWS) == 5
