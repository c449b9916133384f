"""Exposure bias on models whose probabilities are written by hand, and laws on models that have a network."""

import itertools
from collections.abc import Sequence

import pytest
from tests.decoding.letters import translator
from tests.gallery.told import A, B, C, D, Rule, Told
from tests.models.rivals import rival
from tests.models.tiny import tiny_model

from heedful.decoding.config import BeamSearch
from heedful.decoding.search import Request
from heedful.decoding.sequence_backend import SequenceBackend
from heedful.errors import HeedfulError
from heedful.evaluation.exposure import AfterError, AtPosition, Exposure, compounded, exposure, measure_exposure
from heedful.models.interface import Seq2Seq
from heedful.models.tagger_config import TaggerConfig
from heedful.recipe.tables import build_model
from heedful.tasks.table import translator_of
from heedful.text.vocabulary import BOS, EOS, PAD

Ids = Sequence[int]


def measured(rule: Rule, targets: Sequence[Ids], error_at: int = 1) -> Exposure:
    """What is found of a rule, source number n having the n-th target."""
    return exposure(Told(rule), [([A + number], target) for number, target in enumerate(targets)], error_at)


def gold_at(target: Ids, place: int) -> int:
    return target[place] if place < len(target) else EOS


class TestCompounded:
    """[spec C7]"""

    @pytest.mark.parametrize(("p", "length", "whole"), [(0.95, 20, 0.358486), (0.99, 100, 0.366032), (1.0, 9, 1.0)])
    def test_closed_forms(self, p: float, length: int, whole: float) -> None:
        assert compounded(p, [length]) == pytest.approx(whole, abs=5e-7)

    def test_is_the_mean_over_lengths(self) -> None:
        assert compounded(0.5, [1, 2, 2, 3]) == (1 / 2 + 1 / 4 + 1 / 4 + 1 / 8) / 4


class TestPredictedAndFound:
    def test_errors_that_do_not_depend_on_each_other_multiply(self) -> None:
        """Every pattern of right and wrong at three places once: half the tokens, an eighth of the outputs."""
        patterns = list(itertools.product([True, False], repeat=3))

        def rule(number: int, read: tuple[int, ...]) -> dict[int, float]:
            place = len(read)
            right = place > 2 or patterns[number][place]
            return {gold_at([A, B], place): 0.6 if right else 0.4, C: 0.4 if right else 0.6}

        found = measured(rule, [[A, B]] * 8)
        assert (found.outputs, found.tokens) == (8, 24)
        assert found.teacher_forced_tokens == found.free_running_tokens == 1 / 2
        assert found.free_running_outputs == found.teacher_forced_outputs == 1 / 8
        assert found.by_position == [AtPosition(place, 8, 1 / 2, 1 / 2) for place in (1, 2, 3)]

    def test_one_error_in_twenty_in_each_output(self) -> None:
        """95 % teacher-forced; and free-running, nothing is right after the first error."""
        target = [A, B] * 9 + [A]

        def rule(_number: int, read: tuple[int, ...]) -> dict[int, float]:
            astray = list(read) != target[: len(read)] or len(read) == 4
            return {C: 1.0} if astray else {gold_at(target, len(read)): 1.0}

        found = measured(rule, [target] * 3)
        assert found.teacher_forced_tokens == 0.95
        assert found.teacher_forced_outputs == pytest.approx(0.358486, abs=5e-7)
        assert (found.free_running_tokens, found.free_running_outputs) == (4 / 20, 0.0)
        assert [row.teacher_forced for row in found.by_position] == [1.0] * 4 + [0.0] + [1.0] * 15
        assert [row.free_running for row in found.by_position] == [1.0] * 4 + [0.0] * 16

    def test_errors_that_keep_together(self) -> None:
        """The same 95 %, all errors in one output of twenty: 95 % of the outputs are right."""
        target = [A] * 19

        def rule(number: int, read: tuple[int, ...]) -> dict[int, float]:
            return {C: 1.0} if number == 3 and len(read) < 20 else {gold_at(target, len(read)): 1.0}

        found = measured(rule, [target] * 20)
        assert found.teacher_forced_tokens == found.free_running_tokens == found.free_running_outputs == 0.95
        assert found.teacher_forced_outputs == pytest.approx(0.358486, abs=5e-7)

    def test_lengths_differ(self) -> None:
        """Targets of 2, 1 and 0 tokens, all right but the first place of the first."""
        targets = [[A, B], [B], []]

        def rule(number: int, read: tuple[int, ...]) -> dict[int, float]:
            return {C: 1.0} if number == 0 and not read else {gold_at(targets[number], len(read)): 1.0}

        found = measured(rule, targets)
        assert (found.tokens, found.teacher_forced_tokens) == (6, 5 / 6)
        assert found.teacher_forced_outputs == pytest.approx(((5 / 6) ** 3 + (5 / 6) ** 2 + 5 / 6) / 3)
        assert [row.n for row in found.by_position] == [3, 2, 1]
        assert [row.teacher_forced for row in found.by_position] == [2 / 3, 1.0, 1.0]
        assert found.free_running_edits == 1 / 3

    def test_a_token_too_many_makes_all_that_follow_wrong(self) -> None:
        """A A B for A B: one token of three is at its place, and one edit for two tokens mends it."""
        said = [A, A, B]
        found = measured(lambda _number, read: {gold_at(said, len(read)): 1.0}, [[A, B]])
        assert (found.free_running_tokens, found.free_running_edits) == (1 / 3, 1 / 2)

    def test_an_output_that_ends_too_early(self) -> None:
        found = measured(lambda _number, _read: {EOS: 1.0}, [[A, B]])
        assert (found.teacher_forced_tokens, found.free_running_tokens, found.free_running_edits) == (1 / 3, 0.0, 1.0)

    def test_padding_and_the_beginning_are_no_outputs(self) -> None:
        target = [A, B]
        found = measured(
            lambda _number, read: {BOS: 0.5, PAD: 0.3, gold_at(target, len(read)): 0.2}, [target], error_at=2
        )
        assert found.teacher_forced_tokens == found.free_running_tokens == 1.0


class TestForcedError:
    TARGET = (A, B, A, B)

    def after(self, rule: Rule, error_at: int = 1) -> list[float]:
        return [row.after_wrong for row in measured(rule, [self.TARGET], error_at).after_error]

    def test_never_back(self) -> None:
        def rule(_number: int, read: tuple[int, ...]) -> dict[int, float]:
            right = read == self.TARGET[: len(read)]
            return {gold_at(self.TARGET, len(read)): 0.7 if right else 0.3, C: 0.3 if right else 0.7}

        found = measured(rule, [self.TARGET], error_at=2)
        assert found.free_running_outputs == 1.0
        assert found.after_error == [AfterError(distance, 1, 1.0, 0.0) for distance in (1, 2, 3)]

    def test_back_at_once(self) -> None:
        """What knows nothing of its past is not disturbed by it."""
        assert self.after(lambda _number, read: {gold_at(self.TARGET, len(read)): 0.7, C: 0.3}) == [1.0] * 4

    @pytest.mark.parametrize(("error_at", "shares"), [(1, [0, 0, 1, 1]), (2, [0, 0, 1]), (3, [0, 0]), (4, [0])])
    def test_back_after_two_places(self, error_at: int, shares: list[float]) -> None:
        def rule(_number: int, read: tuple[int, ...]) -> dict[int, float]:
            wrong = next((i for i, token in enumerate(read) if token != gold_at(self.TARGET, i)), len(read))
            lost = 0 < len(read) - wrong <= 2
            return {gold_at(self.TARGET, len(read)): 0.3 if lost else 0.7, C: 0.7 if lost else 0.3}

        assert self.after(rule, error_at) == shares

    @pytest.mark.parametrize(
        ("first", "put"),
        [({A: 0.5, EOS: 0.3, C: 0.15, D: 0.05}, C), ({D: 0.5, A: 0.4, C: 0.1}, D), ({B: 0.4, A: 0.6}, B)],
    )
    def test_is_the_best_choice_that_is_neither_gold_nor_the_end(self, first: dict[int, float], put: int) -> None:
        """The model goes on rightly behind this token alone."""

        def rule(_number: int, read: tuple[int, ...]) -> dict[int, float]:
            if not read:
                return first
            return {gold_at(self.TARGET, len(read)): 1.0} if read[0] == put else {C: 1.0}

        assert self.after(rule) == [1.0] * 4

    def test_only_targets_that_reach_the_place(self) -> None:
        targets = [[A, B, A], [B], [], [A, A]]
        found = measured(lambda number, read: {gold_at(targets[number], len(read)): 0.6, C: 0.4}, targets, error_at=2)
        assert found.after_error == [AfterError(1, 2, 1.0, 1.0), AfterError(2, 1, 1.0, 1.0)]


class TestRefusals:
    def test_no_pairs(self) -> None:
        with pytest.raises(HeedfulError, match="There are no pairs, so there is nothing to measure"):
            exposure(tiny_model(), [])

    @pytest.mark.parametrize("place", [0, 4])
    def test_a_place_that_no_target_reaches(self, place: int) -> None:
        with pytest.raises(HeedfulError, match=f"No target has a token at position {place}") as caught:
            exposure(tiny_model(), [([5], [5, 6, 7])], place)
        assert caught.value.hint == "Take a position from 1 to 3."

    def test_an_encoder_only_model(self) -> None:
        made = translator()
        made = translator_of(build_model(TaggerConfig(encoder="gru", d_model=8, d_hidden=8), 9, 9), made.tokenizers)
        with pytest.raises(HeedfulError, match="Exposure bias needs a decoder"):
            measure_exposure(made, ["a"], ["a"])

    def test_a_pair_that_is_too_long(self) -> None:
        made = translator()
        made = translator_of(tiny_model({"positions": "learned", "max_positions": 4}), made.tokenizers)
        with pytest.raises(HeedfulError, match="Pair 2 has 5 tokens, but this model reads 4"):
            measure_exposure(made, ["a", "a b c d"], ["a", "a"])


MODELS = {"transformer": tiny_model, **{name: lambda name=name: rival(name) for name in ("bahdanau", "convs2s")}}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    return MODELS[request.param]()


PAIRS: list[tuple[Ids, Ids]] = [([5, 6, 7, 4, 9], [8, 8, 4]), ([4], [10, 9]), ([9, 9], [6]), ([7, 5], [])]


class TestLaws:
    def test_padding_and_batches_change_nothing(self, model: Seq2Seq) -> None:
        assert exposure(model, PAIRS, 2, max_tokens=1) == exposure(model, PAIRS, 2)

    def test_up_to_the_first_error_both_ways_say_the_same(self, model: Seq2Seq) -> None:
        """Targets are the beginnings of greedy outputs: all is right, but the end of those that were cut."""
        sources = [source for source, _ in PAIRS]
        greedy = SequenceBackend(model, BeamSearch(beam=1), str)
        said = [found[0].ids for found in greedy.hypotheses(sources, [Request(40)] * 4, 1)]
        pairs = [(source, ids[:3]) for source, ids in zip(sources, said, strict=True) if ids]
        whole = sum(0 < len(ids) <= 3 for ids in said)
        tokens = sum(len(target) + 1 for _, target in pairs)
        found = exposure(model, pairs)
        assert pairs
        right = (tokens - len(pairs) + whole) / tokens
        assert found.teacher_forced_tokens == found.free_running_tokens == right
        assert found.free_running_outputs == whole / len(pairs)
        assert [row.after_gold for row in found.after_error] == [row.free_running for row in found.by_position][1:]
        broken = [(source, [4 if target[0] != 4 else 5, *target[1:]]) for source, target in pairs]
        assert exposure(model, broken).free_running_outputs == 0.0


def test_texts() -> None:
    """By the translator's tokenisers, with its model."""
    made = translator()
    encode = made.tokenizers.source.encode
    texts = [("a b c", "c b"), ("d", "e f a")]
    by_ids = exposure(made.backend.decoder("a test"), [(encode(source), encode(target)) for source, target in texts], 2)
    assert measure_exposure(made, [one for one, _ in texts], [other for _, other in texts], 2) == by_ids
