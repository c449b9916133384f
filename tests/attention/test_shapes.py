"""What a newcomer hands over by mistake, and what is said of it.

In a process of its own: the tests' own checks of shapes would speak first.
"""

import json
import subprocess
import sys

import pytest

SETTING = """
import json, sys, torch
from heedful.attention import General, Additive, Cosine, Mask, MultiHeadAttention, attend, dot, scaled_dot
from heedful.attention.core import fused_attention

q, k, v = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 6)
x, wide = torch.randn(2, 4, 8), torch.randn(2, 4, 6)
heads = MultiHeadAttention(8, 2)
seen = torch.ones(4, 7, dtype=torch.bool)
said = {}
for line in json.loads(sys.argv[1]):
    try:
        eval(line)
    except Exception as error:
        said[line] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""
A_MASK = "TypeError: `mask` must be a Mask, made by Mask.key_padding(real) of [B S], Mask.pair(visible) of [T S]"
A_MEMORY = "TypeError: `key_value` must be what `project` gives, such as attention(x, attention.project(x)), but is a "
EXPECTED = {
    "attend(q, k, v, score=dot, mask=seen)": A_MASK,
    "attend(q, k, v, score=dot, mask='causal')": A_MASK,
    "fused_attention(q, k, v, mask=seen)": A_MASK,
    "heads(x, heads.project(x), seen[:, :4])": A_MASK,
    "attend(q, k, v, score=dot, mask=Mask.pair(seen[:, :4]))": "ValueError: A mask of shape [1, 1, 4, 4] does not fit",
    "heads(x, x, x)": A_MEMORY + "Tensor.",
    "heads(x, x)": A_MEMORY + "Tensor.",
    "heads(x, (k, v))": A_MEMORY + "tuple.",
    "heads(wide, heads.project(x))": "ValueError: `query` must be 8 wide, as d_model is, but is 6.",
    "heads.project(wide)": "ValueError: `memory` must be 8 wide, as d_model is, but is 6.",
    "heads.project(x[0])": "ValueError: `memory` must be [B S D], but its shape is [4, 8].",
    "heads.project([x])": "TypeError: `memory` must be a tensor [B S D], but is a list.",
    "attend(q, v, v, score=dot)": "ValueError: `query` and `key` must be equally wide for this score, but are 5 and 6;",
    "attend(q, v, v, score=scaled_dot)": "ValueError: `query` and `key` must be equally wide for this score",
    "attend(q, v, v, score=Cosine())": "ValueError: `query` and `key` must be equally wide for this score",
    "fused_attention(q, v, v)": "ValueError: `query` and `key` must be equally wide for this score",
    "attend(q, v, v, score=General(5, 5))": "ValueError: `key` must be 5 wide, as the weight of General is, but is 6.",
    "attend(v, k, v, score=General(5, 5))": "ValueError: `query` must be 5 wide, as the weight of General is",
    "attend(q, v, v, score=Additive(5, 4, 3))": "ValueError: `key` must be 4 wide, as the projection of Additive is",
    "attend(q, k, q, score=dot)": "ValueError: `key` and `value` must belong together in [B H S], but have [2, 3, 7]",
    "attend(q, k[:1], v[:1], score=dot)": "ValueError: `query` and `key` must have the same sentences and heads [B H]",
    "attend(q[0], k[0], v[0], score=dot)": "ValueError: `query` must be [B H T E], but its shape is [3, 4, 5].",
    "attend(q.numpy(), k, v, score=dot)": "TypeError: `query` must be a tensor [B H T E], but is a ndarray.",
    "attend(q, k, v, score='dot')": "TypeError: `score` must be a function of queries and keys, such as scaled_dot,",
    "attend(q, k, v, score=dot, bias=Mask.pair(seen))": "TypeError: `bias` must be a tensor [B H T S], any of",
}


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    command = [sys.executable, "-c", SETTING, json.dumps(list(EXPECTED))]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("line", EXPECTED)
def test_what_is_said(line: str, said: dict[str, str]) -> None:
    assert said.get(line, "nothing").startswith(EXPECTED[line])
