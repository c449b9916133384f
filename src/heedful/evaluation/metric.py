"""What every metric is: statistics of one item, and a value of their sum. Knows none of them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar


class Metric(ABC):
    """A corpus measure that is a function of a sum over items.

    `signature` names every choice that changes the number, in sacrebleu's form; the count of references and their
    Unicode form are added by `heedful.evaluation.score`, which sees to them. `reads_tokenised` metrics want the texts
    of a tokenised protocol.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    higher_is_better: ClassVar[bool]
    reads_tokenised: ClassVar[bool] = False

    @property
    @abstractmethod
    def signature(self) -> str:
        """The choices behind the number, such as "case:mixed|tok:13a"."""

    def validation_error(self, references: Sequence[Sequence[str]]) -> str | None:
        """Why the metric says nothing of items with these references, as the end of a sentence; None where it does."""
        return None

    @abstractmethod
    def statistics(self, output: str, references: Sequence[str]) -> tuple[float, ...]:
        """What one item adds to the sum; the same length for every item. There is at least one reference."""

    @abstractmethod
    def value(self, sums: Sequence[float]) -> float:
        """The metric, in per cent, of summed statistics."""
