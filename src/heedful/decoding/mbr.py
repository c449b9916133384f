"""Minimum Bayes risk decoding: of several candidates, the one with the greatest expected utility under samples.

Knows hypotheses and how to read them as text, no model and no search.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from sacrebleu import BLEU as SacreBLEU

from heedful.decoding.search import Hypothesis

Table = NDArray[np.float64]


class Utility(ABC):
    """Utility of a text given a reference: from 0 to 100, higher is better."""

    name: ClassVar[str]

    @abstractmethod
    def table(self, texts: Sequence[str], references: Sequence[str]) -> Table:
        """Compute [len(texts) len(references)]: the utility of each text against each single reference."""


class _NGramUtility(Utility):
    """Utilities of shared n-grams: each text is cut once, and all pairs are counted by one matrix product an order."""

    max_order: ClassVar[int]

    @abstractmethod
    def cut(self, text: str) -> Sequence[str]:
        """Split a text into the units whose n-grams are counted."""

    def counts(self, texts: Sequence[str], references: Sequence[str]) -> "_Counts":
        """Count n-grams that each pair has in common, and those of each text and reference."""
        ours, theirs = [self.cut(text) for text in texts], [self.cut(reference) for reference in references]
        orders = range(1, self.max_order + 1)
        common = np.stack([_common(ours, theirs, order) for order in orders])
        return _Counts(common, self._totals(ours), self._totals(theirs))

    def _totals(self, texts: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        lengths = np.array([len(text) for text in texts])
        return np.stack([np.maximum(lengths - order, 0) for order in range(self.max_order)])


class _Counts(NamedTuple):
    """n-grams of orders 1 to `max_order`."""

    common: NDArray[np.int64]  # [order text reference], clipped
    output: NDArray[np.int64]  # [order text]
    wanted: NDArray[np.int64]  # [order reference]


@final
class ChrF(_NGramUtility):
    """chrF2 of a sentence, as sacrebleu counts it: characters without blanks, up to 6-grams. [Popović 2015]"""

    name, max_order = "chrf", 6
    beta = 2

    def cut(self, text: str) -> str:
        return "".join(text.split())

    def table(self, texts: Sequence[str], references: Sequence[str]) -> Table:
        common, output, wanted = self.counts(texts, references)
        output, wanted = output[:, :, None], wanted[:, None, :]
        counted = (output > 0) & (wanted > 0)  # orders longer than either text are left out
        orders = np.maximum(counted.sum(0), 1)
        precision = np.where(counted, common / np.maximum(output, 1), 0).sum(0) / orders
        recall = np.where(counted, common / np.maximum(wanted, 1), 0).sum(0) / orders
        divisor = self.beta**2 * precision + recall
        return 100 * (1 + self.beta**2) * precision * recall / np.where(divisor > 0, divisor, 1)


@final
class SentenceBLEU(_NGramUtility):
    """BLEU of a sentence by sacrebleu: 13a tokens, exponential smoothing, effective order. [Post 2018]"""

    name, max_order = "bleu", 4

    def __init__(self) -> None:
        self._scorer = SacreBLEU(effective_order=True)

    def cut(self, text: str) -> list[str]:
        return self._scorer.tokenizer(text.rstrip()).split()

    def table(self, texts: Sequence[str], references: Sequence[str]) -> Table:
        common, output, wanted = self.counts(texts, references)
        values = np.empty((len(texts), len(references)))
        for row in range(len(texts)):
            total = output[:, row].tolist()
            for column, length in enumerate(wanted[0].tolist()):
                correct = common[:, row, column].tolist()
                found = self._scorer.compute_bleu(correct, total, total[0], length, "exp", effective_order=True)
                values[row, column] = found.score
        return values


@final
class EditSimilarity(Utility):
    """100 (1 - edits / length of the longer text), in symbols between blanks: words, or sounds. [Levenshtein 1966]"""

    name = "edit"

    def table(self, texts: Sequence[str], references: Sequence[str]) -> Table:
        ours, theirs = [text.split() for text in texts], [reference.split() for reference in references]
        return np.array([[100 * Levenshtein.normalized_similarity(a, b) for b in theirs] for a in ours])


@final
class CharacterSimilarity(Utility):
    """The same in characters."""

    name = "edit-characters"

    def table(self, texts: Sequence[str], references: Sequence[str]) -> Table:
        return np.array([[100 * Levenshtein.normalized_similarity(a, b) for b in references] for a in texts])


_KINDS: tuple[type[Utility], ...] = (ChrF, SentenceBLEU, EditSimilarity, CharacterSimilarity)


def utility_of(name: str) -> Utility:
    """Return the utility of this name. Raises ValueError for an unknown one."""
    for kind in _KINDS:
        if kind.name == name:
            return kind()
    raise ValueError(f"`name` must be one of {', '.join(kind.name for kind in _KINDS)}, but is {name!r}.")


def best_expected(
    candidates: Sequence[Hypothesis],
    samples: Sequence[Hypothesis],
    text_of: Callable[[list[int]], str],
    utility: Utility,
) -> list[Hypothesis]:
    """Rank the candidates by their mean utility against the samples, best first, with this as their score.

    y* = argmax_y 1/N sum_n u(y, y_n), y_n ~ p(y | x). [Kumar 2004, Eq. 4; Eikema 2022, Eq. 4]
    Equal texts are one candidate, the most probable one; equal samples are compared once and count as often as drawn.
    Among equal expectations the more probable candidate is first.
    """
    of_text: dict[str, Hypothesis] = {}
    for candidate in sorted(candidates, key=lambda one: -one.log_p):
        of_text.setdefault(text_of(candidate.ids), candidate)
    drawn = Counter(text_of(sample.ids) for sample in samples)
    weights = np.array(list(drawn.values())) / len(samples)
    expected = utility.table(list(of_text), list(drawn)) @ weights
    ranked = [one._replace(score=float(value)) for one, value in zip(of_text.values(), expected, strict=True)]
    return sorted(ranked, key=lambda one: -one.score)


def _common(texts: Sequence[Sequence[str]], references: Sequence[Sequence[str]], order: int) -> NDArray[np.int64]:
    """Compute the clipped counts of common n-grams of each pair.

    min(a, b) = sum over k >= 1 of [a >= k] [b >= k], so with a column for each (n-gram, k) it is a matrix product.
    """
    columns: dict[tuple[object, int], int] = {}
    ours = [[columns.setdefault(gram, len(columns)) for gram in _numbered(text, order)] for text in texts]
    theirs = [[columns[gram] for gram in _numbered(text, order) if gram in columns] for text in references]
    left, right = _indicators(ours, len(columns)), _indicators(theirs, len(columns))
    return (left @ right.T).astype(np.int64)  # sums of zeros and ones below 2^24 are exact in float32


def _numbered(text: Sequence[str], order: int) -> list[tuple[object, int]]:
    """Number the occurrences of each n-gram of a text."""
    seen: Counter[object] = Counter()
    numbered = []
    for start in range(len(text) - order + 1):
        gram = text[start : start + order] if isinstance(text, str) else tuple(text[start : start + order])
        seen[gram] += 1
        numbered.append((gram, seen[gram]))
    return numbered


def _indicators(rows: Sequence[Sequence[int]], width: int) -> NDArray[np.float32]:
    matrix = np.zeros((len(rows), width), np.float32)
    for number, row in enumerate(rows):
        matrix[number, list(row)] = 1
    return matrix
