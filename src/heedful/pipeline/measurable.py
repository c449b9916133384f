"""Whether a split can be measured: every metric has something to count, and every place a label. Looked at before work.

Knows no training and no command line.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from heedful.decoding.answering import PARTS_HINT
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError, counted
from heedful.evaluation.evaluate import References
from heedful.models.interface import EncoderOnly

Lengths = NDArray[np.integer]


def check_answerable(translator: Translator, split: str, sources: Sequence[str], references: References) -> None:
    """Raises ConfigError where the model cannot read a source of the split, or labels places and a target has more or
    fewer labels.
    """
    model, tokenizers = translator.model, translator.tokenizers
    if not isinstance(model, EncoderOnly) or model.alignment != "places":
        return
    encoded = tokenizers.source.encode_all(sources)
    check_sources(split, model, enumerate(encoded))
    places = model.places(np.array([len(ids) for ids in encoded]))
    targets = [target for some in references for target in some]
    owner = [number for number, some in enumerate(references) for _ in some]
    labels = np.array([len(ids) for ids in tokenizers.target.encode_all(targets)])
    check_places(split, places[owner], labels, owner.__getitem__)


def check_sources(split: str, model: EncoderOnly, sources: Iterable[tuple[int, Sequence[int]]]) -> None:
    """Raises ConfigError for the first of these sources (ids, with numbers from 0) that the model cannot read."""
    for number, source in sources:
        if (validation_error := model.validation_error(source)) is not None:
            raise ConfigError(f"{split}:{number + 1}: {validation_error}.", hint=PARTS_HINT)


def check_places(split: str, places: Lengths, labels: Lengths, origin: Callable[[int], int]) -> None:
    """Raises ConfigError unless each pair has one label a place; `origin` numbers the pairs of the split, from 0."""
    wrong = np.flatnonzero(places != labels)
    if not len(wrong):
        return
    first = int(wrong[0])
    what = f"{counted(len(wrong), f'{split} pair')} {'does' if len(wrong) == 1 else 'do'} not have one label a place"
    found = f"{counted(int(places[first]), 'place')}, {counted(int(labels[first]), 'label')}"
    raise ConfigError(
        f"{what}; the first is pair {origin(first) + 1}: {found}.",
        hint="Labels are words between blanks: one in all for a classifier, for a tagger one a token of the source; "
        "tokenizer.source.kind says what is one.",
    )
