"""Metrics, each as statistics of one item and a value of their sum: a resampled score costs a sum and no recount.

Every value is in per cent. BLEU, chrF and TER are sacrebleu's own counting. Knows nothing of intervals or tests.
"""

import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast, final

import sacrebleu
from rapidfuzz.distance import Levenshtein

from heedful.evaluation.labels import Accuracy, SpanF1
from heedful.evaluation.metric import ItemMetric, Metric
from heedful.text.normalise import in_compared_form

MAX_ORDER = 4  # of the n-grams of BLEU


class SacreMetric(ItemMetric):
    """A metric that sacrebleu counts, through the two methods by which its own significance tests use it."""

    def __init__(self, scorer: sacrebleu.BLEU | sacrebleu.CHRF | sacrebleu.TER) -> None:
        scorer.num_refs = (
            1  # a signature needs a count; it is cut off below, as `heedful.evaluation.score` adds the true one
        )
        self._scorer = scorer

    @property
    def signature(self) -> str:
        return self._scorer.get_signature().format().partition("|")[2]

    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        columns = [[reference] for reference in references]
        return tuple(self._scorer._extract_corpus_statistics([output], columns)[0])

    def value(self, sums: Sequence[float]) -> float:
        return float(self._scorer._compute_score_from_stats(cast(Any, list(sums))).score)


@final
class BLEU(SacreMetric):
    """BLEU of untokenised text: n-gram precision with a brevity penalty [Papineni 2002; Post 2018]."""

    name, label, higher_is_better = "bleu", "BLEU", True
    meaning = "overlap of word n-grams with the references, from 0 to 100"
    unit = ""

    def __init__(self) -> None:
        super().__init__(sacrebleu.BLEU())


@final
class CHRF(SacreMetric):
    """chrF2: F-score of character n-grams up to 6 [Popović 2015]."""

    name, label, higher_is_better = "chrf", "chrF2", True
    meaning = "overlap of character n-grams with the references, from 0 to 100"
    unit = ""

    def __init__(self) -> None:
        super().__init__(sacrebleu.CHRF())


@final
class TER(SacreMetric):
    """Translation edit rate: word edits and block shifts for each reference word [Snover 2006]."""

    name, label, higher_is_better = "ter", "TER", False
    meaning = "translation edit rate: word edits and shifts, in per cent of the reference's words"

    def __init__(self) -> None:
        super().__init__(sacrebleu.TER())


@final
class MultiBleu(ItemMetric):
    """BLEU of text that is tokenised already, as multi-bleu.perl of Moses counts it.

    Nothing is tokenised, case counts, and nothing is smoothed: without a single matching 4-gram the score is 0. The
    length of the closest reference (of two equally close ones, the shorter) enters the brevity penalty. Only ASCII
    blanks split words, as in Perl on bytes. `postprocess` says what was done to the outputs before, for the signature.
    """

    name, label, higher_is_better, reads_tokenised = "multi-bleu", "multi-BLEU", True, True
    meaning = "BLEU of tokenised text, as multi-bleu.perl counts it, from 0 to 100"
    unit = ""

    def __init__(self, postprocess: str = "none") -> None:
        self._postprocess = postprocess

    @property
    def signature(self) -> str:
        return f"case:mixed|tok:none|smooth:none|post:{self._postprocess}|version:multi-bleu"

    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        words = _ascii_words(output)
        reference_words = [_ascii_words(reference) for reference in references]
        closest = min((len(other) for other in reference_words), key=lambda n: (abs(n - len(words)), n))
        matched = [0] * MAX_ORDER
        allowed: Counter[tuple[str, ...]] = Counter()
        for other in reference_words:
            allowed |= _ngrams(other)
        for ngram, count in _ngrams(words).items():
            matched[len(ngram) - 1] += min(count, allowed[ngram])
        possible = [max(0, len(words) - order) for order in range(MAX_ORDER)]
        return (len(words), closest, *matched, *possible)

    def value(self, sums: Sequence[float]) -> float:
        length, reference_length = sums[:2]
        matched, possible = sums[2 : 2 + MAX_ORDER], sums[2 + MAX_ORDER :]
        if min(matched) == 0:
            return 0.0
        brevity = min(0.0, 1 - reference_length / length)
        log_precision = sum(math.log(m / p) for m, p in zip(matched, possible, strict=True)) / MAX_ORDER
        return 100 * math.exp(brevity + log_precision)


def _ascii_words(text: str) -> list[str]:
    return [word for word in re.split(r"[ \t\n\r\f\v]+", text) if word]


def _ngrams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(words[start : start + order])
        for order in range(1, MAX_ORDER + 1)
        for start in range(len(words) - order + 1)
    )


class LineMetric(ItemMetric):
    """A share of lines. A line is right if it equals one of its references, up to the amount of blanks."""

    @property
    def signature(self) -> str:
        return "case:mixed|unit:line|blanks:collapsed|version:1"

    def value(self, sums: Sequence[float]) -> float:
        return 100 * sums[0] / sums[1]


@final
class Exact(LineMetric):
    """Per cent of lines that are exactly right."""

    name, label, higher_is_better = "exact", "exact", True
    meaning = "per cent of lines exactly right"

    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        return float(is_right(output, references)), 1.0


@final
class WER(LineMetric):
    """Word error rate where a line is one word (spelling to sound, normalisation): per cent of lines not exactly right.

    This is the convention of that field, and NOT the word edit distance of speech recognition; "unit:line" says so.
    """

    name, label, higher_is_better = "wer", "WER", False
    meaning = "word error rate: per cent of lines not exactly right"

    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        return float(not is_right(output, references)), 1.0


class EditRate(ItemMetric):
    """Edits (insertions, deletions, substitutions) to the closest reference, in per cent of its units, over the corpus.

    Of several references the one with the fewest edits counts, the first among equals. Can exceed 100.
    """

    @staticmethod
    @abstractmethod
    def units(text: str) -> Sequence[str]:
        """Split an output into the units in which edits are counted."""

    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        found = self.units(output)
        wanted = [self.units(reference) for reference in references]
        edits = [Levenshtein.distance(found, units) for units in wanted]
        best = min(range(len(edits)), key=edits.__getitem__)
        return float(edits[best]), float(len(wanted[best]))

    def value(self, sums: Sequence[float]) -> float:
        edits, length = sums
        if length == 0:  # nothing was to be written; as in TER, writing something is then wholly wrong
            return 100.0 if edits else 0.0
        return 100 * edits / length


@final
class PER(EditRate):
    """Phone (symbol) error rate: edits of blank-separated symbols."""

    name, label, higher_is_better = "per", "PER", False
    meaning = "phone error rate: edits in per cent of the reference's symbols"

    @property
    def signature(self) -> str:
        return "case:mixed|unit:symbol|ref:closest|version:1"

    @staticmethod
    def units(text: str) -> Sequence[str]:
        return text.split()


@final
class CER(EditRate):
    """Character error rate: edits of characters (Unicode code points), a blank being one."""

    name, label, higher_is_better = "cer", "CER", False
    meaning = "character error rate: edits in per cent of the reference's characters"

    @property
    def signature(self) -> str:
        return "case:mixed|unit:character|blanks:collapsed|ref:closest|version:1"

    @staticmethod
    def units(text: str) -> Sequence[str]:
        return collapse_blanks(text)


def collapse_blanks(text: str) -> str:
    """Strip blanks at the ends of a text, and make those inside single."""
    return " ".join(text.split())


def is_right(output: str, references: Sequence[str]) -> bool:
    """Return whether an output equals one of the references, up to the amount of blanks and equal forms in Unicode."""
    written = collapse_blanks(in_compared_form(output))
    return any(written == collapse_blanks(in_compared_form(reference)) for reference in references)


_KINDS: tuple[type[Metric], ...] = (BLEU, CHRF, TER, MultiBleu, Exact, WER, PER, CER, Accuracy, SpanF1)


def metric_names() -> list[str]:
    """List the names of all metrics."""
    return [kind.name for kind in _KINDS]


def metrics_for(names: Sequence[str], postprocess: str = "none") -> list[Metric]:
    """Make the metrics of these names, in this order. Raises ValueError for an unknown one."""
    kinds = {kind.name: kind for kind in _KINDS}
    unknown = [name for name in names if name not in kinds]
    if unknown:
        raise ValueError(f"`names` may hold {', '.join(kinds)}, but holds {unknown[0]!r}.")
    return [MultiBleu(postprocess) if name == MultiBleu.name else kinds[name]() for name in names]


def meaning_of(name: str) -> str:
    """Return what the metric of this name says, spelt out; nothing for a name that is no metric's."""
    return next((kind.meaning for kind in _KINDS if kind.name == name), "")


def unit_of(name: str) -> str:
    """Return the unit that stands behind a value of this metric: a per cent sign for rates, else nothing."""
    return next((kind.unit for kind in _KINDS if kind.name == name), "")


def valued(value: float, metric: str) -> str:
    """Return a value with its unit: "30.37 %" for an error rate."""
    unit = unit_of(metric)
    return f"{value:.2f}\u00a0{unit}" if unit else f"{value:.2f}"


def label_of(name: str) -> str:
    """Return the column title of the metric of this name; any other name ("loss") is its own title."""
    return next((kind.label for kind in _KINDS if kind.name == name), name)
