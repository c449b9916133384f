"""Metrics against sacrebleu, against brute force, and against sums done by hand."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import sacrebleu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluation.made_up import WORDS, Noisy, sentences

from heedful.evaluation.config import EvaluationConfig
from heedful.evaluation.metric import Metric
from heedful.evaluation.metrics import label_of, metric_names, metrics_for
from heedful.evaluation.score import measure

ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # other work may go on beside
ORACLES = {
    "bleu": sacrebleu.BLEU,
    "chrf": sacrebleu.CHRF,
    "ter": sacrebleu.TER,
    "multi-bleu": lambda: sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True),
}
LINES = st.lists(st.sampled_from([*WORDS, "naïve", "“quoted”", "x-y", "$3.50", "漢字"]), max_size=9).map(" ".join)
CORPORA = st.lists(st.tuples(LINES, st.lists(LINES, min_size=2, max_size=2)), min_size=1, max_size=6)


def corpus_value(metric: Metric, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    return metric.value(measure(metric, outputs, references).sum(axis=0).tolist())


def value_of(name: str, output: str, *references: str) -> float:
    (metric,) = metrics_for([name])
    return corpus_value(metric, [output], [list(references)])


@pytest.mark.parametrize("name", ORACLES)
class TestAgainstSacrebleu:
    def test_one_reference(self, name: str) -> None:
        references = sentences(200)
        outputs = [line.text for line in Noisy(0.2).translate(references)]
        expected = ORACLES[name]().corpus_score(outputs, [references]).score
        assert 0 < expected < 100
        (metric,) = metrics_for([name])
        assert corpus_value(metric, outputs, [[line] for line in references]) == pytest.approx(expected, abs=1e-9)

    @ANY_SPEED
    @given(corpus=CORPORA)
    def test_two_references_and_odd_lines(self, name: str, corpus: list[tuple[str, list[str]]]) -> None:
        outputs, references = [output for output, _ in corpus], [targets for _, targets in corpus]
        columns = [[targets[i] for targets in references] for i in range(2)]
        expected = ORACLES[name]().corpus_score(outputs, columns).score
        (metric,) = metrics_for([name])
        assert corpus_value(metric, outputs, references) == pytest.approx(expected, abs=1e-9)

    def test_number_of_references_that_varies(self, name: str) -> None:
        outputs = ["the cat sat on the mat", "a dog ran under the mat"]
        references = [["the cat sat on a mat", "the cat ran on the mat ."], ["a dog ran under a mat"]]
        columns = [[references[0][0], references[1][0]], [references[0][1], None]]
        expected = ORACLES[name]().corpus_score(outputs, columns).score
        (metric,) = metrics_for([name])
        assert corpus_value(metric, outputs, references) == pytest.approx(expected, abs=1e-9)

    def test_signature(self, name: str) -> None:
        oracle = ORACLES[name]()
        oracle.corpus_score(["a"], [["a"]])
        expected = oracle.get_signature().format()
        (metric,) = metrics_for([name])
        if name == "multi-bleu":
            assert metric.signature == "case:mixed|tok:none|smooth:none|post:none|version:multi-bleu"
        else:
            assert f"nrefs:1|{metric.signature}" == expected


class TestMultiBleu:
    def test_by_hand(self) -> None:
        """Output of 6 words against one of 7: matches 5/6, 3/5, 2/4, 1/3; brevity exp(1 - 7/6)."""
        expected = 100 * math.exp(1 - 7 / 6) * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
        assert value_of("multi-bleu", "a b c d X f", "a b c d e f g") == pytest.approx(expected)

    def test_no_four_words_match(self) -> None:
        assert value_of("multi-bleu", "a b c X d", "a b c d e") == 0.0

    def test_case_counts(self) -> None:
        assert (
            value_of("multi-bleu", "A b c d e", "a b c d e") < value_of("multi-bleu", "a b c d e", "a b c d e") == 100.0
        )

    def test_of_two_equally_close_references_the_shorter_counts(self) -> None:
        """Output of 5 between references of 4 and 6: no brevity penalty, whichever comes first."""
        for references in (("a b c d", "a b c d e f"), ("a b c d e f", "a b c d")):
            assert value_of("multi-bleu", "a b c d e", *references) == pytest.approx(100.0)

    def test_only_ascii_blanks_split(self) -> None:
        """As Perl does on bytes: a no-break space is part of a word."""
        assert value_of("multi-bleu", "a\u00a0b c d e", "a b c d e") == 0.0
        assert value_of("multi-bleu", "a \t b  c d", "a b c d") == 100.0

    def test_signature_tells_the_postprocessing(self) -> None:
        (metric,) = metrics_for(["multi-bleu"], "moses-lowercase.de")
        assert "|post:moses-lowercase.de|" in metric.signature


class TestLines:
    def test_shares(self) -> None:
        outputs, references = ["a b", "a  b ", "a c", "x"], [["a b"], ["a b"], ["a b"], ["y", "x"]]
        exact, wer = metrics_for(["exact", "wer"])
        assert corpus_value(exact, outputs, references) == 75.0
        assert corpus_value(wer, outputs, references) == 25.0

    def test_wer_is_of_lines_and_says_so(self) -> None:
        assert value_of("wer", "K AE T S", "K AE T") == 100.0
        assert "unit:line" in metrics_for(["wer"])[0].signature

    def test_case_counts(self) -> None:
        assert value_of("exact", "A", "a") == 0.0


def distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Edit distance by its recurrence [Wagner 1974]."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    table[:, 0], table[0, :] = range(len(a) + 1), range(len(b) + 1)
    for i, x in enumerate(a, start=1):
        for j, y in enumerate(b, start=1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (x != y))
    return int(table[-1, -1])


class TestEditRates:
    def test_per_by_hand(self) -> None:
        """One exchange in 3 symbols, and one insertion in 2: 2 edits for 5."""
        (per,) = metrics_for(["per"])
        assert corpus_value(per, ["K AH T", "A B C"], [["K AE T"], ["A B"]]) == 40.0

    def test_cer_by_hand(self) -> None:
        assert value_of("cer", "kitten", "sitting") == pytest.approx(100 * 3 / 7)

    def test_symbols_are_not_characters(self) -> None:
        assert value_of("per", "AA1", "AA2") == 100.0
        assert value_of("cer", "AA1", "AA2") == pytest.approx(100 / 3)

    def test_closest_reference_and_its_length(self) -> None:
        assert value_of("per", "A B C", "X Y Z W", "A B") == 50.0

    def test_first_of_equally_close_references(self) -> None:
        assert value_of("per", "A B", "A", "A B C") == 100.0
        assert value_of("per", "A B", "A B C", "A") == pytest.approx(100 / 3)

    @pytest.mark.parametrize("name", ["per", "cer"])
    def test_empty_texts(self, name: str) -> None:
        assert value_of(name, "", "") == 0.0
        assert value_of(name, "x", "") == 100.0
        assert value_of(name, "", "x") == 100.0

    def test_can_exceed_one_hundred(self) -> None:
        assert value_of("per", "A B C", "X") == 300.0

    @ANY_SPEED
    @given(st.lists(st.sampled_from("abc"), max_size=7), st.lists(st.sampled_from("abc"), min_size=1, max_size=7))
    def test_against_the_recurrence(self, output: list[str], reference: list[str]) -> None:
        expected = 100 * distance(output, reference) / len(reference)
        assert value_of("per", " ".join(output), " ".join(reference)) == pytest.approx(expected)
        assert value_of("cer", "".join(output), "".join(reference)) == pytest.approx(expected)


class TestNames:
    def test_configuration_offers_exactly_these(self) -> None:
        config = EvaluationConfig.model_validate({"metrics": metric_names()})
        assert [metric.name for metric in metrics_for(config.metrics)] == metric_names()

    def test_direction(self) -> None:
        """A perfect output is at least as good as any other by every metric, in the metric's own direction."""
        for metric in metrics_for(metric_names()):
            right = corpus_value(metric, ["B-a B-b B-c B-d B-e"], [["B-a B-b B-c B-d B-e"]])
            wrong = corpus_value(metric, ["B-a x"], [["B-a B-b B-c B-d B-e"]])
            assert right > wrong if metric.higher_is_better else right < wrong

    def test_unknown(self) -> None:
        with pytest.raises(ValueError, match=r"`names` may hold bleu, .*, span-f1, but holds 'blue'\."):
            metrics_for(["bleu", "blue"])

    def test_labels(self) -> None:
        assert label_of("chrf") == "chrF2"
        assert label_of("loss") == "loss"
