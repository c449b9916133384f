"""Interface of a translator to a model or an export: hypotheses of source ids, log-probabilities of pairs of ids.

Knows ids, no text but through `text_of`, and no lines.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from heedful.decoding.config import SearchConfig
from heedful.decoding.search import Hypothesis, Request
from heedful.errors import ConfigError, HeedfulError
from heedful.models.interface import Seq2Seq
from heedful.trace import Trace

Ids = Sequence[int]
Pair = tuple[Ids, Ids]
END = "</s>"
PAIR_LENGTHS = 8  # times `max_source`: longer pairs are not scored, as attention takes quadratic time and memory
TRACED_LENGTHS = 4  # times `max_source`: longer pairs are not traced, as all their weights are kept


class Backend(ABC):
    """Interface of a model, or of an exported one, with its settings of search."""

    search: SearchConfig
    damaged_hint: str = "Copy the bundle again, or use another checkpoint."

    @property
    @abstractmethod
    def longest(self) -> int | None:
        """The most tokens of a source or a target, with its EOS or BOS, that can be read; None where any number can."""

    @property
    def longest_segment(self) -> int:
        """The most tokens of a source, without EOS, that is searched at once; longer lines are split."""
        return self.search.max_source if self.longest is None else min(self.search.max_source, self.longest - 1)

    @property
    def device(self) -> torch.device:
        """Device on which the backend computes."""
        return torch.device("cpu")

    def without_tokens(self) -> "Backend":
        """Return the same backend, which may leave out the log-probabilities of tokens where they cost time."""
        return self

    @abstractmethod
    def with_search(self, search: SearchConfig) -> "Backend":
        """Return the same backend with other settings of search; prepared weights are shared.

        Raises ConfigError for settings that it does not have.
        """

    @abstractmethod
    def hypotheses(self, sources: Sequence[Ids], requests: Sequence[Request], n_best: int) -> list[list[Hypothesis]]:
        """Find the `n_best` best hypotheses of each source (ids without EOS), best first; [] if there are none.

        Raises ConfigError for requests that it does not support, and ValueError if n_best exceeds the beam.
        """

    @abstractmethod
    def log_p(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """Compute the natural log-probability of each token of each target, and of its EOS."""

    def check_source(self, place: str, source: Ids) -> None:
        """Raise HeedfulError, which begins with `place`, for a source that cannot be read."""
        return

    def check_pairs(self, pairs: Sequence[Pair], first: int = 1) -> None:
        """Raise HeedfulError for the first pair, counted from `first`, that cannot be scored."""
        most = PAIR_LENGTHS * self.search.max_source
        for number, pair in enumerate(pairs, start=first):
            tokens = 1 + max(map(len, pair))
            if tokens > most:
                hint = "Cut it into sentences. It is 8 times search.max_source: attention needs the square of it."
                raise HeedfulError(f"Pair {number} has {tokens:,} tokens, but {most:,} can be scored.", hint=hint)
            if self.longest is not None and tokens > self.longest:
                hint = "Shorten it, or train with a larger model.max_positions."
                message = f"Pair {number} has {tokens} tokens, but this model reads {self.longest}."
                raise HeedfulError(message, hint=hint)

    def decoder(self, what: str) -> Seq2Seq:
        """Return the model with a decoder that computes. Raises ConfigError, which says that `what` needs one."""
        raise ConfigError(f"{what} needs a decoder, and this model has none to look into.", hint="Leave it out.")

    def trace(self, pair: Pair, source: Sequence[str], target: Sequence[str]) -> Trace:
        """Compute all attention weights for a pair of ids, whose pieces are `source` and `target` (without EOS).

        Raises ConfigError where there are none to see.
        """
        hint = "Inspect the bundle that it was made from."
        raise ConfigError("An export has no attention maps to look at.", hint=hint)


UNSPLIT = sys.maxsize
"""The `longest_segment` of a backend that reads whole sources only."""
