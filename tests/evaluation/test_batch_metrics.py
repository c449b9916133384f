"""A metric may read sources, and gets all items at once: one written here passes through every way of scoring."""

from collections.abc import Sequence

import pytest

from heedful.evaluation.evaluate import item_statistics
from heedful.evaluation.metric import Item, Metric
from heedful.evaluation.score import score_outputs
from heedful.records.outputs import Output


class Copied(Metric):
    """Per cent of outputs that repeat their source, counted in one call for all items."""

    name, label, meaning, higher_is_better = "copied", "copied", "per cent of outputs that repeat the source", False
    reads_sources = True

    def __init__(self) -> None:
        self.calls: list[int] = []

    @property
    def signature(self) -> str:
        return "version:1"

    def measure(self, items: Sequence[Item]) -> list[tuple[float, ...]]:
        self.calls.append(len(items))
        return [(float(item.output == item.source), 1.0) for item in items]

    def value(self, sums: Sequence[float]) -> float:
        return 100 * sums[0] / sums[1]


def test_all_items_come_at_once_with_their_sources() -> None:
    copied = Copied()
    (score,) = score_outputs(["a", "b", "c", "d"], [["x"]] * 4, [copied], sources=["a", "b", "x", "y"])
    assert (score.value, score.n, copied.calls) == (50.0, 4, [4])
    assert score.low < 50 < score.high
    assert score.signature == "nrefs:1|form:NFC|version:1"


def test_texts_are_compared_in_one_form() -> None:
    (score,) = score_outputs(["\u00e9"], [["x"]], [Copied()], sources=["e\u0301"])
    assert score.value == 100


def test_stored_outputs_bring_their_sources() -> None:
    rows = [Output("test:1", "a", ["x"], "a", 0.0), Output("test:2", "a", ["x"], "b", 0.0)]
    assert item_statistics(Copied(), rows).tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("sources", "said"),
    [(None, "because copied reads them"), (["a"], "an entry for each of the 2 outputs, but has 1")],
)
def test_sources_that_are_missing(sources: list[str] | None, said: str) -> None:
    with pytest.raises(ValueError, match=f"`sources` must .*{said}"):
        score_outputs(["a", "b"], [["x"], ["x"]], [Copied()], sources=sources)
