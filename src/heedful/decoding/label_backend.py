"""Backends of encoder-only models: the best label at each position, or the symbols of CTC.

Knows ids, no text and no lines.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.data.batch import Batch, collate
from heedful.decoding.backend import END, UNSPLIT, Backend, Ids, Pair
from heedful.decoding.config import BeamSearch, SearchConfig, unused_without_decoder
from heedful.decoding.ctc import ctc_hypotheses, ctc_log_p, path_log_p
from heedful.decoding.search import NEVER, Hypothesis, Request, log_probabilities
from heedful.decoding.segments import in_batches
from heedful.errors import ConfigError, HeedfulError, counted
from heedful.models.device import device_of
from heedful.models.inference import PreparedCopies, for_inference
from heedful.models.interface import EncoderOnly, Prediction
from heedful.models.recording import recorded_maps
from heedful.text.vocabulary import EOS, UNK
from heedful.trace import Trace

PARTS_HINT = 'Parts are told apart by tokenizer.source.separator, such as "|||".'


class EncoderOnlyBackend(Backend):
    """A model that predicts all positions at once. It reads whole sources: none is split."""

    searched: ClassVar[tuple[str, ...]] = ()  # settings of beam search that have an effect

    def __init__(
        self,
        model: EncoderOnly,
        search: SearchConfig,
        prepared: PreparedCopies[EncoderOnly, EncoderOnly] | None = None,
    ) -> None:
        """Prepare a backend. Raises ConfigError for settings of search that need a decoder."""
        for name in unused_without_decoder(search, self.searched):
            message = f"`search.{name}` needs a decoder, but this model is encoder-only."
            raise ConfigError(message, hint=f"Leave search.{name} out.")
        self.model, self.search = model, search
        self.prepared = PreparedCopies(model, for_inference) if prepared is None else prepared

    @abstractmethod
    def found(self, prediction: Prediction, n_best: int) -> list[list[Hypothesis]]:
        """Find the `n_best` best outputs of each sentence, best first."""

    @abstractmethod
    def given(self, prediction: Prediction, targets: Sequence[Ids]) -> list[list[float]]:
        """Compute the log-probabilities of given targets, and of their ends."""

    @property
    def longest(self) -> int | None:
        return self.model.longest

    @property
    def device(self) -> torch.device:
        return device_of(self.model)

    @property
    def longest_segment(self) -> int:
        return UNSPLIT if self.longest is None else self.longest - 1

    def check_source(self, place: str, source: Ids) -> None:
        if (error := self.model.validation_error(source)) is not None:
            raise HeedfulError(f"{place}: {error}.", hint=PARTS_HINT)

    def check_pairs(self, pairs: Sequence[Pair], first: int = 1) -> None:
        super().check_pairs(pairs, first)
        for number, (source, _) in enumerate(pairs, start=first):
            self.check_source(f"Pair {number}", source)

    def hypotheses(self, sources: Sequence[Ids], requests: Sequence[Request], n_best: int) -> list[list[Hypothesis]]:
        if any(request.prefix or request.required or request.forbidden is not None for request in requests):
            message = "Prefixes and constraints need a decoder, but this model is encoder-only."
            raise ConfigError(message, hint="Leave them out.")
        ready = self.prepared.ready(self.search.precision)

        def found(numbers: list[int]) -> list[list[Hypothesis]]:
            batch = self._batch([(sources[number], ()) for number in numbers])
            return self.found(ready.predict(batch.src, batch.src_mask), n_best)

        return in_batches([len(ids) for ids in sources], self.search.max_tokens, found)

    def log_p(self, pairs: Sequence[Pair]) -> list[list[float]]:
        self.model.eval()

        def given(numbers: list[int]) -> list[list[float]]:
            batch = self._batch([pairs[number] for number in numbers])
            prediction = self.model.predict(batch.src, batch.src_mask)
            return self.given(prediction, [pairs[number][1] for number in numbers])

        return in_batches([max(map(len, pair)) for pair in pairs], self.search.max_tokens, given)

    def trace(self, pair: Pair, source: Sequence[str], target: Sequence[str]) -> Trace:
        self.model.eval()
        batch = self._batch([pair])
        with recorded_maps(self.model) as maps:
            (log_p,) = self.given(self.model.predict(batch.src, batch.src_mask), [pair[1]])
        return Trace([*source, END], list(target), list(target), log_p[: len(target)], maps)

    def _batch(self, pairs: Sequence[Pair]) -> Batch:
        return collate([(list(source), list(target)) for source, target in pairs], range(len(pairs))).to(self.device)


@final
class LabelBackend(EncoderOnlyBackend):
    """One label at each position."""

    def with_search(self, search: SearchConfig) -> "LabelBackend":
        return LabelBackend(self.model, search, self.prepared)

    def found(self, prediction: Prediction, n_best: int) -> list[list[Hypothesis]]:
        log_p = label_log_p(prediction)
        return [best_label_sequences(log_p[row][real], n_best) for row, real in enumerate(prediction.mask)]

    def given(self, prediction: Prediction, targets: Sequence[Ids]) -> list[list[float]]:
        """Return the log-probability of each label; that of the end is 0, for it is not predicted."""
        log_p = label_log_p(prediction)
        rows = [log_p[row, range(len(ids)), list(ids)].tolist() for row, ids in enumerate(targets)]
        return [[*row, 0.0] for row in rows]

    def check_pairs(self, pairs: Sequence[Pair], first: int = 1) -> None:
        super().check_pairs(pairs, first)
        for number, (source, target) in enumerate(pairs, start=first):
            if UNK in target:
                hint = "Labels are those of the training data: heedful data stats shows them."
                raise HeedfulError(f"Pair {number} has a label that this model does not know.", hint=hint)
            positions = int(self.model.output_lengths(np.array([len(source)]))[0])
            if len(target) != positions:
                found = f"{counted(len(target), 'label')}, but its source has {counted(positions, 'position')}"
                raise HeedfulError(f"Pair {number} has {found}.", hint="Give one label a position.")


@final
class CTCBackend(EncoderOnlyBackend):
    """Symbols in the order of the source, with blanks between them: the best path, or prefix search with a beam."""

    searched = ("beam",)

    def __init__(
        self,
        model: EncoderOnly,
        search: SearchConfig,
        prepared: PreparedCopies[EncoderOnly, EncoderOnly] | None = None,
        *,
        by_best_path: bool = False,
    ) -> None:
        """Prepare a backend; with `by_best_path` the beam of the settings has no effect."""
        super().__init__(model, search, prepared)
        self.by_best_path = by_best_path

    def with_search(self, search: SearchConfig) -> "CTCBackend":
        return CTCBackend(self.model, search, self.prepared, by_best_path=self.by_best_path)

    def found(self, prediction: Prediction, n_best: int) -> list[list[Hypothesis]]:
        assert isinstance(self.search, BeamSearch), "others are refused when the backend is made"
        return ctc_hypotheses(prediction, 1 if self.by_best_path else self.search.beam, n_best)

    def given(self, prediction: Prediction, targets: Sequence[Ids]) -> list[list[float]]:
        return [ctc_log_p(row, ids) for row, ids in zip(path_log_p(prediction), targets, strict=True)]


def label_log_p(prediction: Prediction) -> Float[Tensor, "B T V"]:
    """Compute log softmax in float32; PAD, UNK, BOS and EOS are no labels (-inf)."""
    log_p = log_probabilities(prediction.logits.flatten(0, 1)).view(prediction.logits.shape)
    log_p[:, :, EOS] = NEVER
    log_p[:, :, UNK] = NEVER
    return log_p


def best_label_sequences(log_p: Float[Tensor, "T V"], n_best: int) -> list[Hypothesis]:
    """Find the `n_best` best sequences of labels, best first: exact, since positions do not depend on each other."""
    values, ids = log_p.topk(min(n_best, log_p.shape[1]), dim=1)
    found: list[tuple[float, list[int], list[float]]] = [(0.0, [], [])]
    for row_values, row_ids in zip(values.tolist(), ids.tolist(), strict=True):
        grown = [
            (total + value, [*labels, label], [*parts, value])
            for total, labels, parts in found
            for value, label in zip(row_values, row_ids, strict=True)
            if value > NEVER
        ]
        found = sorted(grown, key=lambda one: -one[0])[:n_best]
    return [Hypothesis(labels, total, total, [*parts, 0.0]) for total, labels, parts in found]
