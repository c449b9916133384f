"""Metrics of labels: of each position, and of whole spans. Every value is in per cent."""

from collections.abc import Sequence
from typing import final

from heedful.evaluation.metric import ItemMetric


class LabelMetric(ItemMetric):
    """A measure of labels between blanks, against the first reference."""

    higher_is_better = True

    @property
    def signature(self) -> str:
        return "case:mixed|unit:label|ref:first|version:1"


@final
class Accuracy(LabelMetric):
    """Per cent of the reference's labels that the output has at the same position; of one label a line, of lines."""

    name, label = "accuracy", "accuracy"
    meaning = "per cent of labels that are right"

    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        wanted, found = references[0].split(), output.split()
        right = sum(one == other for one, other in zip(found, wanted, strict=False))
        return float(right), float(max(len(wanted), len(found)))

    def value(self, sums: Sequence[float]) -> float:
        return 100 * sums[0] / sums[1] if sums[1] else 100.0


@final
class SpanF1(LabelMetric):
    """F1 of whole spans in BIO labels: a span is right if its kind and both ends are. [Tjong Kim Sang 2003, section 4]

    As conlleval has it, an I- without a span of its kind before it begins one. An item without spans, of which the
    output has none either, is wholly right; of a whole corpus without spans it says nothing.
    """

    name, label = "span-f1", "span F1"
    meaning = "F1 of whole labelled spans, in per cent"

    def validation_error(self, references: Sequence[Sequence[str]]) -> str | None:
        if any(spans_of(targets[0].split()) for targets in references):
            return None
        return "counts spans of BIO labels (B-NAME, I-NAME, O), and no target has one"

    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        wanted, found = spans_of(references[0].split()), spans_of(output.split())
        return float(len(wanted & found)), float(len(found)), float(len(wanted))

    def value(self, sums: Sequence[float]) -> float:
        right, found, wanted = sums
        return 200 * right / (found + wanted) if found + wanted else 100.0


def spans_of(labels: Sequence[str]) -> set[tuple[str, int, int]]:
    """Return the (kind, first position, position after the last) of BIO labels."""
    spans: set[tuple[str, int, int]] = set()
    kind, start = "", 0
    for position, label in enumerate([*labels, "O"]):
        mark, _, of = label.partition("-")
        if kind and (mark != "I" or of != kind):
            spans.add((kind, start, position))
            kind = ""
        if mark in ("B", "I") and not kind:
            kind, start = of, position
    return spans
