"""Evaluating a model on a split of its recipe's data: one way for validations, for the end of a run, and for `heedful
evaluate`.

Knows no command line.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from heedful.data.config import DataConfig
from heedful.decoding.config import SearchConfig
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError, HeedfulError
from heedful.evaluation.evaluate import Evaluation, Translating, check_references, evaluate
from heedful.evaluation.metrics import metrics_for
from heedful.models.config import EncoderOnlyConfig, ModelConfig
from heedful.models.ctc_config import CTCConfig
from heedful.pipeline.load import recipe_of
from heedful.pipeline.measurable import check_answerable
from heedful.recipe.recipe import Recipe
from heedful.recipe.splits import load_references, load_split, load_tokenised_references, optional_splits, splits
from heedful.records.run import is_run
from heedful.records.signature import describe_settings

AT_ONCE = "at-once"  # the likeliest label of each place
BEAM_KEYS = ("beam", "length_penalty")
SAMPLING_KEYS = ("temperature", "top_k", "top_p", "epsilon", "seed")
MBR_KEYS = ("mbr_samples", "mbr_candidates", "mbr_utility")


class TestSet(NamedTuple):
    """The items of one split: sources, all right targets of each, and the published protocol's references if it
    has its own.
    """

    split: str
    sources: list[str]
    references: list[list[str]]
    tokenised: list[list[str]] | None

    def only(self, numbers: Sequence[int]) -> "TestSet":
        """These items, in this order."""
        tokenised = None if self.tokenised is None else [self.tokenised[i] for i in numbers]
        return TestSet(self.split, [self.sources[i] for i in numbers], [self.references[i] for i in numbers], tokenised)


def read_test_set(data: DataConfig, split: str) -> TestSet:
    """Read a split whole. Raises ConfigError where the data have no such split."""
    sources = [pair.source for pair in load_split(data, split)]
    tokenised = load_tokenised_references(data, split)
    wrapped = None if tokenised is None else [[line] for line in tokenised]
    return TestSet(split, sources, load_references(data, split), wrapped)


def dev_sources(model: Path, most: int) -> list[str]:
    """The first sources of the dev split of a run's recipe.

    Raises ConfigError where `model` is no run directory or the run's data are gone, and HeedfulError where they are
    damaged.
    """
    hint = "Name a file of sentences, one a line, by --dev."
    if not is_run(model):
        raise ConfigError(f"{model} is no run directory, so it has no dev split.", hint=hint)
    try:
        return [pair.source for pair in islice(load_split(recipe_of(model).data, "dev"), most)]
    except HeedfulError as error:
        raise type(error)(f"The dev split of {model} cannot be read: {error.message}", hint=hint) from None


def final_split(data: DataConfig) -> str:
    """The split by which a finished model is judged: test, or dev where there is no test set or a local copy lacks it.

    A lacking test set was reported as a warning when the data were checked, before training.
    """
    if "test" not in splits(data):
        return "dev"
    try:
        next(iter(load_split(data, "test")), None)
    except HeedfulError:
        if "test" in optional_splits(data):
            return "dev"
        raise
    return "test"


def score_test_set(translator: Translating, items: TestSet, recipe: Recipe) -> Evaluation:
    """Translate and score a test set as the recipe says. Raises ConfigError, before any work, where it cannot be."""
    if isinstance(translator, Translator):
        check_answerable(translator, items.split, items.sources, items.references)
    return evaluate(
        translator,
        items.sources,
        items.references,
        recipe.evaluation,
        recipe.seed,
        split=items.split,
        tokenised_references=items.tokenised,
    )


def check_items(recipe: Recipe, translator: Translator, items: TestSet) -> None:
    """Raises ConfigError where these items, if there are any, could not be scored after training."""
    if items.sources:
        check_references(metrics_for(recipe.evaluation.metrics), items.references, items.split)
        check_answerable(translator, items.split, items.sources, items.references)


def describe_search(search: SearchConfig, model: ModelConfig) -> str:
    """How outputs were found, in one word for signatures; only the keys that had a part in it, and the precision
    where it is not float32.
    """
    if isinstance(model, EncoderOnlyConfig):
        beam = {"beam": search.beam} if isinstance(model, CTCConfig) and model.loss == "ctc" else {}
        precision = {"precision": search.precision} if search.precision != "float32" else {}
        return describe_settings({**beam, **precision}) or AT_ONCE
    draws = search.temperature is not None or search.mbr_samples is not None
    keys = [*BEAM_KEYS, "max_extra", *(SAMPLING_KEYS if draws else ())]
    keys += MBR_KEYS if search.mbr_samples is not None else ()
    keys += [key for key in ("no_repeat_ngram", "shortlist") if getattr(search, key)]
    keys += ["precision"] if search.precision != "float32" else []
    return describe_settings({key: getattr(search, key) for key in keys})
