"""Greedy search: one pass a token, prefixes, ends, and what it never emits."""

import pytest
from tests.decoding.table import A, B, Table, random_table, written_table

from heedful.decoding.greedy import greedy_search
from heedful.decoding.search import Request
from heedful.text.vocabulary import BOS, EOS, PAD


def greedy(table: Table, requests: list[Request]) -> list[list[int]]:
    return [found.ids for [found] in greedy_search(table.step, table.start(len(requests), 1), requests)]


def test_four_words_and_an_end_take_five_passes() -> None:
    """ "The computer is driving." has 6 target tokens with BOS and EOS, and each pass predicts one of the last 5."""
    sentence = (A, B, B, A)
    table = written_table({sentence[:n]: {sentence[n]: 1.0} for n in range(4)})
    assert greedy(table, [Request(50)]) == [list(sentence)]
    assert len(table.rows) == 5


def test_finished_sentences_leave_the_batch() -> None:
    table = random_table(0, ends=-100.0)  # only the limits end
    lengths = [4, 1, 3, 1]
    outputs = greedy(table, [Request(length) for length in lengths])
    assert [len(output) for output in outputs] == lengths
    assert table.rows == [4, 4, 2, 2, 1]


@pytest.mark.parametrize("prefix", [(), (A,), (B, B, A)])
def test_prefix(prefix: tuple[int, ...]) -> None:
    table = random_table(3)
    [[found]] = greedy_search(table.step, table.start(1, 1), [Request(6, prefix)])
    assert tuple(found.ids[: len(prefix)]) == prefix
    assert found.log_p == pytest.approx(table.log_p(0, tuple(found.ids)), abs=1e-5)


@pytest.mark.parametrize("wish", [PAD, BOS])
def test_pad_and_bos_are_no_outputs(wish: int) -> None:
    table = written_table({(): {wish: 0.9, A: 0.1}})
    assert greedy(table, [Request(5)]) == [[A]]
    assert EOS not in greedy(random_table(1), [Request(9)])[0]


def test_does_not_depend_on_the_rest_of_the_batch() -> None:
    requests = [Request(5), Request(2), Request(6, (B,))]
    together = greedy(random_table(5), requests)
    for sentence, request in enumerate(requests):
        whole = random_table(5)
        alone = Table(lambda _sentence, output, number=sentence, whole=whole: whole.logits(number, output))
        assert greedy(alone, [request]) == [together[sentence]]
