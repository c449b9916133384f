"""How a model that answers at once is asked: the best label of each place, or the best few answers.

Knows ids, no text and no lines.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from heedful.data.batch import collate, labels_of
from heedful.decoding.config import SearchConfig, settings_of_decoders
from heedful.decoding.ctc import ctc_hypotheses, ctc_log_p, path_log_p
from heedful.decoding.search import NEVER, Hypothesis, Request, log_probabilities
from heedful.errors import ConfigError, HeedfulError, counted
from heedful.models.device import device_of
from heedful.models.interface import EncoderOnly, Prediction
from heedful.text.vocabulary import EOS, PAD, UNK

PARTS_HINT = 'Parts are told apart by tokenizer.source.separator, such as "|||".'


@final
class Asker:
    """How one model is asked."""

    def __init__(self, model: EncoderOnly, search: SearchConfig) -> None:
        """Raises ConfigError for settings that only a search through a decoder can have."""
        for name in settings_of_decoders(search):
            message = f"`search.{name}` is for models with a decoder; this one answers at once."
            raise ConfigError(message, hint=f"Leave search.{name} out.")
        self.model, self.search = model, search

    def rows(self, n_best: int) -> int:
        """The rows that each sentence takes."""
        return 1

    def __call__(
        self, sources: Sequence[Sequence[int]], requests: Sequence[Request], n_best: int
    ) -> list[list[Hypothesis]]:
        """The `n_best` best answers to each source, best first."""
        if any(request.prefix or request.required or request.forbidden is not None for request in requests):
            message = "Prefixes and constraints are for models with a decoder; this one answers at once."
            raise ConfigError(message, hint="Leave them out.")
        batch = collate([(list(source), []) for source in sources], range(len(sources))).to(device_of(self.model))
        answer = self.model.predict(batch.src, batch.src_mask)
        if self.model.alignment != "places":
            return ctc_hypotheses(answer, 1 if self.model.alignment == "equal-split" else self.search.beam, n_best)
        log_p = label_log_p(answer)
        return [best_answers(log_p[row][real], n_best) for row, real in enumerate(answer.mask)]


def label_log_p(answer: Prediction) -> Float[Tensor, "B T V"]:
    """log softmax in float32; PAD, UNK, BOS and EOS are no labels (-inf)."""
    log_p = log_probabilities(answer.logits.flatten(0, 1)).view(answer.logits.shape)
    log_p[:, :, EOS] = NEVER
    log_p[:, :, UNK] = NEVER
    return log_p


def best_answers(log_p: Float[Tensor, "T V"], n_best: int) -> list[Hypothesis]:
    """The `n_best` best sequences of labels, best first: exact, since places do not depend on each other."""
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


def given_log_p(model: EncoderOnly, answer: Prediction, tgt_out: Int[Tensor, "B T"]) -> list[list[float]]:
    """The log-probability of each given label, and of the end: 0 where each place has a label, and nobody chose it.

    The pairs are such as `check_given` lets pass.
    """
    labels = labels_of(tgt_out)
    given = (labels != PAD).sum(dim=1).tolist()
    if model.alignment != "places":
        targets = [row[:count] for row, count in zip(labels.tolist(), given, strict=True)]
        return [ctc_log_p(row, ids) for row, ids in zip(path_log_p(answer), targets, strict=True)]
    rows = label_log_p(answer).gather(2, labels[:, :, None])[:, :, 0]
    return [[*row[:count], 0.0] for row, count in zip(rows.tolist(), given, strict=True)]


def check_given(model: EncoderOnly, pairs: Sequence[tuple[list[int], list[int]]], first: int) -> None:
    """Raises HeedfulError, before any work, for the first pair of ids that the model cannot score: pairs are counted
    from `first`. It must be able to read the source, and the target must have a known label for each place.
    """
    for number, (source, target) in enumerate(pairs, start=first):
        if (validation_error := model.validation_error(source)) is not None:
            raise HeedfulError(f"Pair {number}: {validation_error}.", hint=PARTS_HINT)
        if model.alignment != "places":
            continue
        if UNK in target:
            hint = "Labels are those of the training data: heedful data stats shows them."
            raise HeedfulError(f"Pair {number} has a label that this model does not know.", hint=hint)
        places = int(model.places(np.array([len(source)]))[0])
        if len(target) != places:
            found = f"{counted(len(target), 'label')}, but its source has {counted(places, 'place')}"
            raise HeedfulError(f"Pair {number} has {found}.", hint="Give as many labels as the model answers.")
