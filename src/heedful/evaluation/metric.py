"""The interface of metrics: statistics of items, and a value of their sum. Knows none of them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple


class Item(NamedTuple):
    """One output with its source and every right target, at least one; texts in the form in which they are compared."""

    source: str
    output: str
    references: Sequence[str]


class Metric(ABC):
    """A corpus measure that is a function of a sum over items.

    `signature` names every choice that changes the number, in sacrebleu's form; the count of references and their
    Unicode form are added by `heedful.evaluation.score`, which sees to them. `label` heads a column, `meaning` spells
    the metric out, `unit` stands behind a value. `reads_sources` metrics cannot do without the sources, and
    `reads_tokenised` metrics want the texts of a tokenised protocol.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    meaning: ClassVar[str]
    higher_is_better: ClassVar[bool]
    unit: ClassVar[Literal["%", ""]] = "%"
    reads_sources: ClassVar[bool] = False
    reads_tokenised: ClassVar[bool] = False

    @property
    @abstractmethod
    def signature(self) -> str:
        """The choices behind the number, such as "case:mixed|tok:13a"."""

    def validation_error(self, references: Sequence[Sequence[str]]) -> str | None:
        """Say why the metric cannot score items with these references, as the end of a sentence; None where it can."""
        return None

    @abstractmethod
    def measure(self, items: Sequence[Item]) -> list[tuple[float, ...]]:
        """Return what each item adds to the sum; the same length for every item. Items come all at once, so that a
        model that counts them can read them in batches.
        """

    @abstractmethod
    def value(self, sums: Sequence[float]) -> float:
        """Compute the metric, in per cent, from summed statistics."""


class ItemMetric(Metric):
    """A metric that counts one item at a time, without its source."""

    def measure(self, items: Sequence[Item]) -> list[tuple[float, ...]]:
        return [self.statistics(item.output, item.references) for item in items]

    @abstractmethod
    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        """Return what one item adds to the sum; the same length for every item. There is at least one reference."""
