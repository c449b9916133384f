"""Forbidden texts and repeated n-grams against every possible output, and texts however they are cut into pieces."""

import itertools
from collections.abc import Callable, Sequence

import pytest
import torch
from tests.decoding.table import SYMBOLS, A, B, V, exhaustive, random_table

from heedful.decoding.beam import beam_search
from heedful.decoding.forbidden import BANNED, START, ForbiddenTokens, forbidding, units_of
from heedful.decoding.greedy import greedy_search
from heedful.decoding.sampling import sample
from heedful.decoding.search import Hypothesis, Request
from heedful.text.config import SideConfig
from heedful.text.tokenizer import Tokenizer, train_tokenizer
from heedful.text.vocabulary import EOS

ALL = 400
SEEDS = pytest.mark.parametrize("seed", range(3))
WORDS = train_tokenizer(SideConfig(kind="words"), ["a b"], seed=1)  # a is 4, b is 5: the symbols of the tables
UNITS = units_of(WORDS)
Search = Callable[[int, list[Request]], list[list[Hypothesis]]]


def automaton(*texts: str) -> torch.Tensor:
    return forbidding(texts, WORDS, UNITS)


def by_beam(seed: int, requests: list[Request], beam: int = 3, n_best: int = 1) -> list[list[Hypothesis]]:
    table = random_table(seed)
    return beam_search(table.step, table.start(len(requests), beam), requests, beam=beam, alpha=0.6, n_best=n_best)


def by_greed(seed: int, requests: list[Request]) -> list[list[Hypothesis]]:
    table = random_table(seed)
    return greedy_search(table.step, table.start(len(requests), 1), requests, 0.6)


def by_chance(seed: int, requests: list[Request]) -> list[list[Hypothesis]]:
    table = random_table(seed)
    return [[one] for one in sample(table.step, table.start(len(requests), 1), requests, range(len(requests)))]


EVERY_SEARCH = pytest.mark.parametrize("search", [by_beam, by_greed, by_chance])


def text(ids: Sequence[int]) -> str:
    return WORDS.decode(ids)


def repeats(ids: Sequence[int], order: int) -> bool:
    """Whether some n-gram of this order stands there twice."""
    grams = [tuple(ids[at : at + order]) for at in range(len(ids) - order + 1)]
    return len(set(grams)) < len(grams)


@SEEDS
@pytest.mark.parametrize("forbidden", [["a"], ["a b"], ["a a", "b"], ["a b a", "b b"], ["a", "b"], ["b a", "a b"]])
def test_wide_enough_is_exhaustive(seed: int, forbidden: list[str]) -> None:
    request = Request(4, forbidden=automaton(*forbidden))
    [found] = by_beam(seed, [request], beam=ALL, n_best=5)
    every = exhaustive(random_table(seed), 0, request, 0.6)
    expected = [one.ids for one in every if not any(phrase in text(one.ids) for phrase in forbidden)][:5]
    assert [tuple(one.ids) for one in found] == expected


@SEEDS
@pytest.mark.parametrize("order", [1, 2, 3])
def test_repeats_are_exhaustively_avoided(seed: int, order: int) -> None:
    request = Request(5, no_repeat=order)
    [found] = by_beam(seed, [request], beam=ALL, n_best=5)
    every = exhaustive(random_table(seed), 0, request, 0.6)
    assert [tuple(one.ids) for one in found] == [one.ids for one in every if not repeats(one.ids, order)][:5]


@SEEDS
@EVERY_SEARCH
def test_each_sentence_has_rules_of_its_own(seed: int, search: Search) -> None:
    requests = [
        Request(7, forbidden=automaton("a b")),
        Request(7),
        Request(7, forbidden=automaton("b")),
        Request(7, no_repeat=2),
        Request(7, (A, B), forbidden=automaton("b a", "b b")),
        Request(7, (A, A, A, A), no_repeat=1),  # what must come may repeat
    ]
    found = search(seed, requests)
    for hypothesis in found[0]:
        assert "a b" not in text(hypothesis.ids)
    assert all(B not in one.ids for one in found[2])
    assert not any(repeats(one.ids, 2) for one in found[3])
    for hypothesis in found[4]:
        assert "b a" not in text(hypothesis.ids)
        assert "b b" not in text(hypothesis.ids)
    assert all(set(one.ids[4:]) <= {1, B} and one.ids[:4] == [A] * 4 for one in found[5])
    free = [Request(request.max_length, request.prefix) for request in requests]
    assert found[1] == search(seed, free)[1]


@SEEDS
def test_one_beam_is_greedy(seed: int) -> None:
    requests = [Request(6, forbidden=automaton("a a", "b")), Request(6, no_repeat=2), Request(6)]
    for [left], [right] in zip(by_beam(seed, requests, beam=1), by_greed(seed, requests), strict=True):
        assert left.ids == right.ids


def test_a_phrase_with_a_forbidden_beginning_is_both() -> None:
    """Required and forbidden together, where the way is narrow: a b, but never b a."""
    [found] = by_beam(0, [Request(5, (), [(A, B)], automaton("b a"))], beam=4, n_best=4)
    assert all("a b" in text(one.ids) and "b a" not in text(one.ids) for one in found)


def test_nothing_vetoed_costs_nothing() -> None:
    assert ForbiddenTokens.of([Request(3), Request(4)], 2, torch.device("cpu")) is None


PAIRS = ["the cat sat", "a cat's catalogue", "concatenate the mat", "hot hat", "the sea at hand", "cat", "c a t s"]
SUBWORDS = train_tokenizer(SideConfig(kind="sentencepiece", algorithm="bpe", vocab_size=36), PAIRS, seed=1)
LETTERS = train_tokenizer(SideConfig(kind="characters"), PAIRS, seed=1)


def banned_on_the_way(tokenizer: Tokenizer, forbidden: list[str], ids: Sequence[int]) -> bool:
    table = forbidding(forbidden, tokenizer, units_of(tokenizer))
    state = START
    for token in ids:
        state = int(table[state, token])
        if state == BANNED:
            return True
    return False


@pytest.mark.parametrize("forbidden", [["cat"], ["cat", "the"], ["the cat"], ["at"], ["hat", "sea at"]])
def test_subwords_however_they_are_cut(forbidden: list[str]) -> None:
    """All outputs of up to three pieces: it is banned exactly if a word of it begins with the text."""
    pieces = [i for i in range(4, len(SUBWORDS)) if set(SUBWORDS.piece(i)) <= set("▁cathes")]
    assert len(pieces) > 10
    banned = 0
    for ids in itertools.chain.from_iterable(itertools.product(pieces, repeat=n) for n in (1, 2, 3)):
        surface = "▁" + "".join(SUBWORDS.piece(i) for i in ids)
        wanted = any("▁" + phrase.replace(" ", "▁") in surface for phrase in forbidden)
        assert banned_on_the_way_fast(tuple(forbidden), ids) == wanted, (surface, forbidden)
        banned += wanted
    assert banned > 0 or forbidden == ["hat", "sea at"]


TABLES: dict[tuple[str, ...], list[list[int]]] = {}


def banned_on_the_way_fast(forbidden: tuple[str, ...], ids: Sequence[int]) -> bool:
    """As above for subwords, with the automaton made once."""
    table = TABLES.setdefault(forbidden, forbidding(forbidden, SUBWORDS, units_of(SUBWORDS)).tolist())
    state = START
    for token in ids:
        state = table[state][token]
        if state == BANNED:
            return True
    return False


@pytest.mark.parametrize(
    ("output", "banned"), [("cat", True), ("the cats", True), ("concatenate", False), ("c at", False), ("hat", False)]
)
def test_a_text_counts_from_the_beginning_of_a_word(output: str, banned: bool) -> None:
    assert banned_on_the_way(SUBWORDS, ["cat"], SUBWORDS.encode(output)) == banned


def test_characters_and_words_count_symbol_by_symbol() -> None:
    assert banned_on_the_way(LETTERS, ["cat"], LETTERS.encode("concatenate"))
    assert not banned_on_the_way(LETTERS, [" cat"], LETTERS.encode("cat"))
    assert banned_on_the_way(LETTERS, [" cat"], LETTERS.encode("the cat"))
    words = train_tokenizer(SideConfig(kind="words"), ["A AA B"], seed=1)
    assert not banned_on_the_way(words, ["A"], words.encode("AA B"))
    assert banned_on_the_way(words, ["A"], words.encode("B A"))


def test_letters_that_no_piece_has() -> None:
    assert not banned_on_the_way(SUBWORDS, ["ж"], SUBWORDS.encode("the cat ⁇"))
    assert not (forbidding(["ж", "catж"], SUBWORDS, units_of(SUBWORDS)) == BANNED).any()


def test_the_end_is_never_banned() -> None:
    assert not (automaton("a", "b", "a b")[:, EOS] == BANNED).any()
    assert automaton("a").shape[1] == V
    assert set(SYMBOLS) == {1, A, B}
