"""Making the lexical shortlist of a finished run, from the corpus that it was trained on."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from heedful.data.lexicon import NULL, learn_lexicon
from heedful.data.store import PairStore
from heedful.decoding.shortlist import FACTS, TABLE, Shortlist, shortlist_of, write_shortlist
from heedful.errors import HeedfulError
from heedful.models.bundle import is_bundle, load_bundle
from heedful.pipeline.prepare import open_prepared
from heedful.recipe.tables import KINDS
from heedful.records.run import Run
from heedful.tasks.table import task_of
from heedful.text.tokenizer import load_tokenizers


class MadeShortlist(NamedTuple):
    """A shortlist, and what it would have left of a corpus: dev, which it was not made from."""

    shortlist: Shortlist
    mean_candidates: float  # of a dev sentence
    missing: float  # the share of dev's target tokens that are no candidates of their sentence


def make_shortlist(folder: Path, k: int, frequent: int) -> MadeShortlist:
    """Learn which targets go with which source ids, and write the shortlist into the run's bundle.

    Raises HeedfulError where the run has no bundle, or no longer the corpus of its bundle.
    """
    with Run.open(folder) as run:
        if not is_bundle(run.bundle):
            hint = f"Finish it with: heedful train --resume {folder}"
            raise HeedfulError(f"The run {folder} has no model yet.", hint=hint)
        model = load_bundle(run.bundle, KINDS).model
        task_of(model).decoder_of(model, "A shortlist")
        tokenizers = load_tokenizers(run.bundle)
        _, train, dev = open_prepared(run.data)
        if train.tokenizer_fingerprints != (tokenizers.source.fingerprint, tokenizers.target.fingerprint):
            hint = "A shortlist is made from the ids that the model was trained on."
            raise HeedfulError(f"{run.data} was encoded by other tokenizers than those of {run.bundle}.", hint=hint)
        shortlist = learn_shortlist(train, len(tokenizers.source), len(tokenizers.target), k, frequent)
        with run.together(), run.new(f"model/{TABLE}") as table, run.new(f"model/{FACTS}") as facts:
            write_shortlist(table, facts, shortlist, tokenizers)
    return MadeShortlist(shortlist, *coverage(shortlist, dev))


def learn_shortlist(store: PairStore, source_size: int, target_size: int, k: int, frequent: int) -> Shortlist:
    """Learn the k most likely targets of each source id by IBM Model 1, and the most frequent targets of all."""
    pairs = [store.arrays(index) for index in range(len(store))]
    likely = torch.from_numpy(learn_lexicon(pairs, target_size).best(k, source_size)).long()
    likely[NULL] = -1  # no token of a source
    counts = np.zeros(target_size, np.int64)
    for _, target in pairs:
        np.add.at(counts, target, 1)
    most = np.argsort(-counts, kind="stable")[:frequent]
    return shortlist_of(likely, most[counts[most] > 0].tolist(), target_size)


def coverage(shortlist: Shortlist, store: PairStore) -> tuple[float, float]:
    """Compute the mean number of candidates of a sentence, and the share of target tokens that are none."""
    candidates = tokens = missing = 0
    for index in range(len(store)):
        source, target = store.ids(index)
        allowed = shortlist.allowed(source)
        candidates += int(allowed.sum())
        tokens += len(target)
        missing += int((~allowed[target]).sum())
    return candidates / max(len(store), 1), missing / max(tokens, 1)
