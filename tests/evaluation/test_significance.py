"""Intervals and tests against the normal law, against all permutations, and against sacrebleu's own."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest
from tests.evaluation.made_up import Noisy, sentences

from heedful.evaluation import significance
from heedful.evaluation.metric import Metric
from heedful.evaluation.metrics import metrics_for
from heedful.evaluation.score import measure
from heedful.evaluation.significance import bootstrap_interval, paired_bootstrap, paired_randomisation

(EXACT,) = metrics_for(["exact"])
(BLEU,) = metrics_for(["bleu"])


def right(*answers: int) -> np.ndarray:
    """Statistics of `exact` for items that are right (1) or wrong (0)."""
    return np.array([[answer, 1] for answer in answers], dtype=float)


def shares(n_right: int, n: int) -> np.ndarray:
    return right(*([1] * n_right + [0] * (n - n_right)))


class TestInterval:
    def test_agrees_with_the_normal_law(self) -> None:
        """70 % of 2,000: 1.96 standard errors of 1.025 on each side."""
        low, high = bootstrap_interval(EXACT, shares(1400, 2000), samples=4000, seed=1)
        error = 100 * math.sqrt(0.7 * 0.3 / 2000)
        assert low == pytest.approx(70 - 1.96 * error, abs=0.15)
        assert high == pytest.approx(70 + 1.96 * error, abs=0.15)

    def test_agrees_with_sacrebleu(self) -> None:
        references = sentences(150)
        outputs = [line.text for line in Noisy(0.3).translate(references)]
        theirs = sacrebleu.BLEU().corpus_score(outputs, [references], n_bootstrap=2000)
        low, high = bootstrap_interval(BLEU, measure(BLEU, outputs, [[line] for line in references]), 2000, seed=1)
        assert (low + high) / 2 == pytest.approx(theirs._mean, abs=0.2)
        assert (high - low) / 2 == pytest.approx(theirs._ci, rel=0.12)

    def test_same_seed_same_interval(self) -> None:
        statistics = shares(30, 50)
        assert bootstrap_interval(EXACT, statistics, 50, 3) == bootstrap_interval(EXACT, statistics, 50, 3)
        assert bootstrap_interval(EXACT, statistics, 50, 3) != bootstrap_interval(EXACT, statistics, 50, 4)

    def test_chunks_do_not_change_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = bootstrap_interval(EXACT, shares(30, 50), 101, 3)
        monkeypatch.setattr(significance, "CHUNK", 7 * 50)
        assert bootstrap_interval(EXACT, shares(30, 50), 101, 3) == whole

    def test_nothing_varies_if_all_items_are_alike(self) -> None:
        assert bootstrap_interval(EXACT, shares(9, 9), 100, 1) == (100.0, 100.0)


class TestPaired:
    def test_equal_outputs(self) -> None:
        statistics = shares(30, 50)
        assert paired_bootstrap(EXACT, statistics, statistics, 200, 1) == (0.0, 0.0, 0.0, 1.0)
        assert paired_randomisation(EXACT, statistics, statistics, 200, 1) == 1.0

    def test_direction(self) -> None:
        worse, better = shares(500, 1000), shares(700, 1000)
        up = paired_bootstrap(EXACT, worse, better, 500, 1)
        down = paired_bootstrap(EXACT, better, worse, 500, 1)
        assert up.delta == pytest.approx(20)
        assert up.low < 20 < up.high
        assert down == (-up.delta, -up.high, -up.low, up.p)

    def test_pairing_is_used(self) -> None:
        """Two systems that differ on 10 of 400 items, always the same way: sure if paired, lost in the noise if not."""
        first = shares(200, 400)
        second = shares(210, 400)
        paired = paired_bootstrap(EXACT, first, second, 1000, 1)
        assert paired.low > 0
        assert paired.p < 0.01
        apart = paired_bootstrap(EXACT, first, second[::-1], 1000, 1)
        assert apart.delta == paired.delta
        assert apart.p > 0.2

    def test_randomisation_against_all_exchanges(self) -> None:
        """With 9 items all 512 exchanges can be counted."""
        first, second = right(0, 0, 0, 0, 1, 0, 1, 1, 0), right(1, 1, 1, 0, 1, 1, 1, 0, 1)
        observed = abs((second - first)[:, 0].sum())
        signs = np.array(list(itertools.product((1, -1), repeat=9)))
        exact = np.mean(np.abs(signs @ (second - first)[:, 0]) >= observed)
        assert paired_randomisation(EXACT, first, second, 20_000, 1) == pytest.approx(exact, abs=0.01)

    def test_false_alarms_are_as_rare_as_promised(self) -> None:
        """Two equally good systems, 300 times: p below 0.1 in about a tenth of them."""
        generator = np.random.default_rng(0)
        alarms = [0, 0]
        for seed in range(300):
            first, second = (right(*(generator.random(80) < 0.6).astype(int)) for _ in range(2))
            alarms[0] += paired_bootstrap(EXACT, first, second, 200, seed).p < 0.1
            alarms[1] += paired_randomisation(EXACT, first, second, 200, seed) < 0.1
        assert all(15 <= count <= 48 for count in alarms)

    @pytest.mark.parametrize("noises", [(0.3, 0.3), (0.3, 0.27), (0.3, 0.2)])
    def test_agrees_with_sacrebleu(self, noises: tuple[float, float]) -> None:
        """The same randomisation test by other random numbers; sacrebleu's bootstrap centres absolute differences, so
        that only its order of size can agree."""
        references = sentences(120)
        a, b = ([line.text for line in Noisy(noise, seed).translate(references)] for seed, noise in enumerate(noises))
        metric = sacrebleu.BLEU(references=[references])
        systems = [("a", a), ("b", b)]
        theirs = PairedTest(systems, {"BLEU": metric}, None, test_type="ar", n_samples=2000)()[1]["BLEU"]
        statistics = [measure(BLEU, outputs, [[line] for line in references]) for outputs in (a, b)]
        comparison = paired_bootstrap(BLEU, *statistics, samples=2000, seed=1)
        assert comparison.delta == pytest.approx(theirs[1].score - theirs[0].score, abs=1e-9)
        p = paired_randomisation(BLEU, *statistics, samples=2000, seed=1)
        assert p == pytest.approx(theirs[1].p_value, abs=0.035)
        assert comparison.p == pytest.approx(p, abs=0.08)


@pytest.mark.parametrize("test", [paired_bootstrap, paired_randomisation])
class TestRefusals:
    def test_other_items(self, test: Callable) -> None:
        with pytest.raises(
            ValueError, match=r"`stats_b` must have the shape of `stats_a` \(2, 2\), but has \(3, 2\)\."
        ):
            test(EXACT, shares(1, 2), shares(1, 3), 10, 1)

    def test_no_items(self, test: Callable) -> None:
        with pytest.raises(ValueError, match="must have a row for each item, but has none"):
            test(EXACT, shares(0, 0), shares(0, 0), 10, 1)

    def test_no_samples(self, test: Callable) -> None:
        with pytest.raises(ValueError, match="`samples` must be at least 1, but is 0"):
            test(EXACT, shares(1, 2), shares(1, 2), 0, 1)


def test_a_sum_is_all_that_a_metric_sees() -> None:
    """Recounting a resampled corpus and summing its resampled statistics are the same."""
    references = sentences(30)
    outputs = [line.text for line in Noisy(0.3).translate(references)]
    drawn = np.random.default_rng(5).integers(30, size=30)
    for metric in metrics_for(["bleu", "chrf", "ter", "multi-bleu", "wer", "per", "cer"]):
        statistics = measure(metric, outputs, [[line] for line in references])
        recounted = measure(metric, [outputs[i] for i in drawn], [[references[i]] for i in drawn])
        assert _value(metric, statistics[drawn]) == pytest.approx(_value(metric, recounted), abs=1e-12)


def _value(metric: Metric, statistics: np.ndarray) -> float:
    return metric.value(statistics.sum(axis=0).tolist())
