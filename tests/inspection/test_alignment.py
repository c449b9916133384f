"""Alignments: hand values, the published definition of AER, and heads whose alignment is known by construction."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.inspection.made_up import made_up

from heedful.errors import HeedfulError
from heedful.inspection.alignment import (
    Agreement,
    AttentionChoice,
    GoldAlignment,
    all_choices,
    as_pieces,
    as_words,
    links_of,
    parse_gold,
    rank_choices,
    to_pharaoh,
    unit_matrix,
    units_of,
    usual_choice,
)
from heedful.trace import Map, Trace

# ▁the cat+s → ▁die ▁Kat+zen; rows: what each step reads of the source (the, cat, s, </s>)
CATS = Trace(
    ["▁the", "▁cat", "s", "</s>"],
    ["<s>", "▁die", "▁Kat", "zen"],
    ["▁die", "▁Kat", "zen", "</s>"],
    [-0.1] * 4,
    [
        Map(
            "decoder.0.cross",
            torch.tensor([[[0.5, 0.25, 0, 0.25], [0.5, 0.25, 0.25, 0], [0, 0.25, 0.5, 0.25], [0, 0, 0, 1]]]),
            torch.ones(1, 4, 4, dtype=torch.bool),
        )
    ],
)


def test_words_begin_at_the_mark() -> None:
    assert as_words(["▁the", "▁cat", "s"]) == [range(1), range(1, 3)]
    assert as_words(["un", "▁a", "▁", "b"]) == [range(1), range(1, 2), range(2, 4)]
    assert as_words([]) == []
    assert as_pieces(["a", "b"]) == [range(1), range(1, 2)]


def test_units_leave_out_the_end() -> None:
    units = units_of(CATS, as_words, as_pieces)
    assert units == ([range(1), range(1, 3)], [range(1), range(1, 2), range(2, 3)])


def test_source_pieces_are_summed_and_target_pieces_averaged() -> None:
    words = units_of(CATS, as_words, as_words)
    assert unit_matrix(CATS, AttentionChoice(0, 0), words).tolist() == [[0.5, 0.25], [0.25, 0.625]]
    assert unit_matrix(CATS, AttentionChoice(0, 0, shift=1), words).tolist() == [[0.5, 0.5], [0.0, 0.375]]


def test_merging_loses_only_what_the_end_takes() -> None:
    trace = made_up(["▁a", "b", "▁c"], ["▁x", "▁y", "z"], seed=5)
    units = units_of(trace, as_words, as_words)
    weights = trace.map("decoder.1.cross").weights.mean(0)
    expected = [1 - weights[0, 3], 1 - weights[1:3, 3].mean()]
    assert np.allclose(unit_matrix(trace, AttentionChoice(1), units).sum(axis=1), expected, atol=1e-6)


def test_shift_is_zero_or_one() -> None:
    with pytest.raises(ValueError, match="`shift` must be 0 or 1, but is 2"):
        unit_matrix(CATS, AttentionChoice(0, 0, 2), units_of(CATS, as_pieces, as_pieces))


def test_links_are_source_first_and_in_target_order() -> None:
    weights = np.array([[0.1, 0.7], [0.0, 0.0], [0.5, 0.5]], dtype=np.float32)
    assert links_of(weights) == [(1, 0), (0, 2)]
    assert links_of(weights, threshold=0.5) == [(1, 0), (0, 2), (1, 2)]
    assert links_of(np.zeros((0, 3), dtype=np.float32)) == []
    assert to_pharaoh([(1, 0), (0, 2)]) == "1-0 0-2"
    assert to_pharaoh([]) == ""


def test_an_empty_side_has_no_links() -> None:
    for source, target in (([], ["▁x"]), (["▁x"], []), ([], [])):
        trace = made_up(source, target)
        assert links_of(unit_matrix(trace, AttentionChoice(0), units_of(trace, as_words, as_words))) == []


@pytest.mark.parametrize(("n_layers", "layer"), [(1, 0), (2, 1), (3, 2), (4, 2), (6, 4)])
def test_the_usual_choice_is_the_last_layer_or_in_deep_models_the_one_before(n_layers: int, layer: int) -> None:
    assert usual_choice(made_up(["a"], ["b"], n_layers=n_layers)) == AttentionChoice(layer, "mean", 0)


def test_without_cross_attention_there_is_no_alignment() -> None:
    with pytest.raises(HeedfulError, match="no cross-attention"):
        usual_choice(CATS._replace(maps=[]))


def test_gold_lines() -> None:
    assert parse_gold("0-0 2?1 3p1") == GoldAlignment(frozenset({(0, 0)}), frozenset({(0, 0), (2, 1), (3, 1)}))
    assert parse_gold("1-1", first=1) == parse_gold("0-0")
    assert parse_gold("") == GoldAlignment(frozenset(), frozenset())


@pytest.mark.parametrize(("line", "first"), [("0:0", 0), ("a-b", 0), ("1-0", 1), ("1-", 0)])
def test_a_wrong_gold_link_is_named(line: str, first: int) -> None:
    with pytest.raises(HeedfulError, match=rf"`{line}` is no alignment link counted from {first}\."):
        parse_gold(line, first)


def test_agreement_by_hand() -> None:
    gold = parse_gold("0-0 1-1 2?2")
    counts = Agreement().add([(0, 0), (2, 2), (3, 3)], gold)
    assert counts == Agreement(links=3, sure=2, in_sure=1, in_possible=2)
    assert counts.aer == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(1 / 2)


LINKS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


@settings(deadline=None)
@given(LINKS, LINKS)
def test_with_sure_links_only_aer_is_one_minus_f1(found: set[tuple[int, int]], sure: set[tuple[int, int]]) -> None:
    counts = Agreement().add(found, GoldAlignment(frozenset(sure), frozenset(sure)))
    both = len(found & sure)
    f1 = 2 * both / (len(found) + len(sure)) if found or sure else 1.0
    assert counts.aer == pytest.approx(1 - f1)


@settings(deadline=None)
@given(LINKS, LINKS, LINKS)
def test_everything_sure_and_nothing_impossible_is_perfect(
    sure: set[tuple[int, int]], possible: set[tuple[int, int]], other: set[tuple[int, int]]
) -> None:
    gold = GoldAlignment(frozenset(sure), frozenset(sure | possible))
    assert Agreement().add(sure, gold).aer == 0
    counts = Agreement().add(other, gold)
    assert 0 <= counts.aer <= 1
    assert (counts.aer == 0) == (sure <= other <= sure | possible)


def test_the_one_head_that_aligns_is_found() -> None:
    """Reversal: head 1 of layer 1 reads the mirrored position when it consumes a symbol; the other heads are noise."""
    examples = []
    for seed in range(6):
        trace = made_up(list("abcdefg"), list("gfedcba"), n_heads=3, seed=seed)
        known = trace.map("decoder.1.cross")
        weights = known.weights.clone()
        weights[1] = 0
        for step in range(1, 8):
            weights[1, step, 7 - step] = 1
        trace = trace._replace(maps=[m if m is not known else known._replace(weights=weights) for m in trace.maps])
        gold = parse_gold(" ".join(f"{6 - t}-{t}" for t in range(7)))
        examples.append((trace, units_of(trace, as_pieces, as_pieces), gold))
    best, second, third, *_ = rank_choices(examples)
    assert best.choice == AttentionChoice(1, 1, 1)
    assert best.agreement == Agreement(42, 42, 42, 42)
    assert second.choice == AttentionChoice(1, "mean", 1)  # the head that aligns is in this mean
    assert third.agreement.aer > 0.5
    assert len(rank_choices(examples)) == len(all_choices(examples[0][0])) == 2 * 4 * 2


def test_ranking_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="`examples` must hold at least one pair"):
        rank_choices([])
