"""Accuracy and span F1 against sums done by hand."""

import pytest

from heedful.evaluation.labels import spans_of
from heedful.evaluation.metrics import metrics_for
from heedful.evaluation.score import measure


def value(name: str, *pairs: tuple[str, str]) -> float:
    (metric,) = metrics_for([name])
    outputs, references = [output for output, _ in pairs], [[reference] for _, reference in pairs]
    return metric.value(measure(metric, outputs, references).sum(axis=0).tolist())


def test_accuracy_counts_places() -> None:
    assert value("accuracy", ("A B C", "A X C"), ("A", "A")) == pytest.approx(75.0)


def test_a_missing_or_superfluous_label_is_wrong() -> None:
    assert value("accuracy", ("A B", "A B C D")) == pytest.approx(50.0)
    assert value("accuracy", ("A B C D", "A B")) == pytest.approx(50.0)
    assert value("accuracy", ("", "A")) == 0.0


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ("O B-x I-x O B-y", {("x", 1, 3), ("y", 4, 5)}),
        ("B-x B-x", {("x", 0, 1), ("x", 1, 2)}),
        ("I-x I-x O", {("x", 0, 2)}),
        ("B-x I-y", {("x", 0, 1), ("y", 1, 2)}),
        ("O O", set()),
        ("", set()),
    ],
)
def test_spans(labels: str, spans: set) -> None:
    assert spans_of(labels.split()) == spans


def test_span_f1_wants_kind_and_both_ends() -> None:
    reference = "B-x I-x O B-y O B-x"
    assert value("span-f1", (reference, reference)) == 100.0
    output = "B-x O O B-y O B-y"  # 1 of 3 found is right, of 3 wanted
    assert value("span-f1", (output, reference)) == pytest.approx(100 / 3)
    assert value("span-f1", ("O O", "O O")) == 100.0
    assert value("span-f1", ("O B-x", "O O")) == 0.0


def test_span_f1_says_nothing_where_no_target_has_a_span() -> None:
    (metric,) = metrics_for(["span-f1"])
    assert metric.validation_error([["O O"], ["O B-x"]]) is None
    assert (
        metric.validation_error([["NOUN VERB"], ["O"]])
        == "counts spans of BIO labels (B-NAME, I-NAME, O), and no target has one"
    )
    assert all(one.validation_error([["NOUN VERB"]]) is None for one in metrics_for(["accuracy", "exact", "bleu"]))
