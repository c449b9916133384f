"""Required phrases against every possible output, and their automata against the definition."""

import itertools
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.table import SYMBOLS, A, B, exhaustive, random_table

from heedful.decoding.beam import beam_search
from heedful.decoding.constraints import MOST_PHRASES, PhraseBanks, fewest_tokens, plan
from heedful.decoding.search import Hypothesis, Request
from heedful.text.vocabulary import UNK

PHRASES = [
    [(A,)],
    [(A, B)],
    [(A, A)],
    [(B,), (A,)],
    [(A, B), (B, A)],
    [(A, B, A)],
    [(B, A), (A,)],
    [(UNK, A), (A, B)],
    [(A, A, B), (B,)],
]
ALL = 400  # at least as many beams as outputs of up to 5 of the 3 symbols
SEEDS = pytest.mark.parametrize("seed", range(3))


def holds(output: Sequence[int], phrases: Sequence[Sequence[int]]) -> bool:
    """Whether every phrase stands in the output."""
    return all(
        any(tuple(output[at : at + len(phrase)]) == tuple(phrase) for at in range(len(output) - len(phrase) + 1))
        for phrase in phrases
    )


def search(seed: int, requests: list[Request], beam: int, alpha: float, n_best: int = 1) -> list[list[Hypothesis]]:
    table = random_table(seed)
    return beam_search(table.step, table.start(len(requests), beam), requests, beam=beam, alpha=alpha, n_best=n_best)


@SEEDS
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("n_best", [1, 5])
def test_wide_enough_is_exhaustive(seed: int, alpha: float, n_best: int) -> None:
    requests = [Request(5 if len(phrases) > 1 else 4, (), phrases) for phrases in PHRASES]
    for sentence, found in enumerate(search(seed, requests, ALL, alpha, n_best)):
        every = exhaustive(random_table(seed), sentence, requests[sentence], alpha)
        expected = [one for one in every if holds(one.ids, PHRASES[sentence])][:n_best]
        assert [tuple(one.ids) for one in found] == [one.ids for one in expected]
        assert [one.log_p for one in found] == pytest.approx([one.log_p for one in expected], abs=1e-4)


@SEEDS
@pytest.mark.parametrize("beam", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("prefix", [(), (B,), (A, UNK)])
@pytest.mark.parametrize("spare", [0, 1, 6])
def test_every_output_holds_its_phrases(seed: int, beam: int, prefix: tuple[int, ...], spare: int) -> None:
    """However narrow the beam and however little room there is."""
    requests = [Request(fewest_tokens(phrases, prefix) + spare, prefix, phrases) for phrases in PHRASES]
    for request, found in zip(requests, search(seed, requests, beam, 0.6, n_best=beam), strict=True):
        assert found
        for hypothesis in found:
            assert holds(hypothesis.ids, request.required)
            assert len(hypothesis.ids) <= request.max_length
            assert tuple(hypothesis.ids[: len(prefix)]) == prefix
            assert sum(hypothesis.token_log_p) == pytest.approx(hypothesis.log_p, abs=1e-4)
            exact = random_table(seed).log_p(requests.index(request), tuple(hypothesis.ids))
            assert hypothesis.log_p == pytest.approx(exact, abs=1e-4)


@SEEDS
@pytest.mark.parametrize("beam", [1, 3, 5])
def test_sentences_without_phrases_are_searched_as_ever(seed: int, beam: int) -> None:
    free = [Request(6), Request(3, (A,)), Request(6)]
    mixed = [free[0], free[1], free[2], Request(6, (), [(A, B), (B, B)])]
    assert search(seed, mixed, beam, 0.6)[:3] == search(seed, free, beam, 0.6)


@SEEDS
def test_a_phrase_that_is_found_anyway_changes_nothing(seed: int) -> None:
    [[free]] = search(seed, [Request(6, (A,))], ALL, 0.6)
    assert search(seed, [Request(6, (A,), [free.ids[:2]])], ALL, 0.6) == [[free]]


phrase = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(lambda letters: tuple(map(ord, letters)))


@given(phrases=st.lists(phrase, min_size=1, max_size=3), output=st.lists(st.sampled_from([97, 98, 99]), max_size=6))
@settings(max_examples=150, deadline=None)
def test_positions_and_needs_are_what_they_say(phrases: list[tuple[int, ...]], output: list[int]) -> None:
    """Against the definition, and against trying every continuation."""
    automata = plan(phrases)
    positions = [0] * len(automata.phrases)
    for token in output:
        positions = automata.advance(positions, token)
    for one, at in zip(automata.phrases, positions, strict=True):
        if holds(output, [one]):
            assert at == len(one)
        else:
            assert at == max(n for n in range(len(one)) if tuple(output[len(output) - n :]) == one[:n])
    needed = automata.needed(positions)
    tried = (
        n for n in range(10) if any(holds([*output, *more], phrases) for more in itertools.product((97, 98), repeat=n))
    )
    assert needed == next(tried)
    assert fewest_tokens(phrases, output) == len(output) + needed


@pytest.mark.parametrize(
    ("phrases", "fewest"),
    [([], 0), ([(A,)], 1), ([(A, B), (B, A)], 3), ([(A, B), (A, B, A), (A,)], 3), ([(A,), (B,)], 2)],
)
def test_fewest_tokens_by_hand(phrases: list[tuple[int, ...]], fewest: int) -> None:
    assert fewest_tokens(phrases) == fewest


def test_too_many_phrases() -> None:
    with pytest.raises(ValueError, match="`phrases` may hold at most 10 different ones, but holds 11"):
        plan([(number,) for number in range(MOST_PHRASES + 1)])


def test_without_phrases_there_are_no_banks() -> None:
    assert PhraseBanks.of([Request(3), Request(2)], 4, torch.device("cpu")) is None
    assert set(SYMBOLS) == {UNK, A, B}
