"""Sources cut at their EOS."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from heedful.gallery.layers.source_parts import parts_of
from heedful.text.vocabulary import EOS, PAD

Document = list[list[int]]

DOCUMENTS: list[Document] = [[[5, 6], [7]], [[], [4], []], [[8, 9, 10]], [[]]]
documents = st.lists(st.lists(st.lists(st.integers(4, 9), max_size=4), min_size=1, max_size=4), min_size=1, max_size=4)


def source(docs: list[Document], extra: int = 0) -> tuple[Tensor, Tensor]:
    rows = [[word for sentence in doc for word in [*sentence, EOS]] for doc in docs]
    length = max(map(len, rows)) + extra
    src = torch.tensor([row + [PAD] * (length - len(row)) for row in rows])
    return src, torch.arange(length) < torch.tensor([len(row) for row in rows])[:, None]


def test_by_hand() -> None:
    parts = parts_of(*source(DOCUMENTS))
    assert parts.mask.sum(dim=-1).tolist() == [[2, 1, 0], [0, 1, 0], [3, 0, 0], [0, 0, 0]]
    assert parts.positions[0].tolist() == [[0, 1, 0], [3, 0, 0], [0, 0, 0]]
    assert parts.ends.tolist() == [[2, 4, 0], [0, 2, 3], [3, 0, 0], [0, 0, 0]]
    assert parts.real.tolist() == [[True, True, False], [True] * 3, [True, False, False], [True, False, False]]


@given(documents, st.sampled_from([0, 1, 7, 50]))
def test_gathered_words_are_those_of_the_parts(docs: list[Document], extra: int) -> None:
    src, mask = source(docs, extra)
    parts = parts_of(src, mask)
    words = parts.gather(src[..., None].double())[..., 0].long()
    for doc, found, real, n in zip(docs, words, parts.mask, parts.real.sum(dim=1).tolist(), strict=True):
        assert [found[k][real[k]].tolist() for k in range(n)] == doc
        assert not real[n:].any()


@given(documents)
def test_filled_leaves_empty_parts_out(docs: list[Document]) -> None:
    src, mask = source(docs)
    parts = parts_of(src, mask).filled()
    words = parts.gather(src[..., None].double())[..., 0].long()
    for row, doc in enumerate(docs):
        filled = [sentence for sentence in doc if sentence]
        assert parts.real[row].tolist() == [k < len(filled) for k in range(parts.real.shape[1])]
        assert [words[row, k][parts.mask[row, k]].tolist() for k in range(len(filled))] == filled
        assert all(src[row, parts.ends[row, k]] == EOS for k in range(len(filled)))


@given(documents)
def test_spreading_is_the_inverse_of_gathering(docs: list[Document]) -> None:
    """A weight stands at its word, that of a part at its EOS; nothing is added up and nothing lost."""
    src, mask = source(docs, 2)
    parts = parts_of(src, mask)
    ids = src.double()
    words = parts.gather(ids[..., None])[..., 0]
    assert torch.equal(parts.spread_words(words, src.shape[1]), torch.where(src == EOS, 0.0, ids))
    ends = parts.spread_ends(torch.ones(parts.ends.shape, dtype=torch.float64), src.shape[1])
    assert torch.equal(ends > 0, (src == EOS) & mask)


def test_each_source_ends_in_eos() -> None:
    src, mask = source(DOCUMENTS)
    src[2, 3] = 5
    with pytest.raises(ValueError, match="`src` must end in EOS, in each row"):
        parts_of(src, mask)
