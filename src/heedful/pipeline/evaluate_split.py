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
from heedful.decoding.label_backend import EncoderOnlyBackend
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError, HeedfulError
from heedful.evaluation.evaluate import Evaluation, Translating, check_references, evaluate
from heedful.evaluation.metrics import metrics_for
from heedful.models.config import ModelConfig
from heedful.models.interface import Model
from heedful.pipeline.load import recipe_of
from heedful.recipe.recipe import Recipe
from heedful.recipe.splits import load_items, load_split, load_tokenised_references, optional_splits, splits
from heedful.records.run import is_run
from heedful.tasks.recipe_rules import RULES
from heedful.tasks.table import task_of
from heedful.tasks.task import HeldOutItems
from heedful.text.tokenizer import Tokenizers


class TestSet(NamedTuple):
    """The items of one split: sources, all right targets of each, and the published protocol's references if it
    has its own.
    """

    split: str
    sources: list[str]
    references: list[list[str]]
    tokenised: list[list[str]] | None

    @property
    def held(self) -> HeldOutItems:
        """The texts, without the published protocol."""
        return HeldOutItems(self.split, self.sources, self.references)

    def only(self, numbers: Sequence[int]) -> "TestSet":
        """Return these items, in this order."""
        tokenised = None if self.tokenised is None else [self.tokenised[i] for i in numbers]
        return TestSet(self.split, [self.sources[i] for i in numbers], [self.references[i] for i in numbers], tokenised)


def read_test_set(data: DataConfig, split: str) -> TestSet:
    """Read a split whole. Raises ConfigError where the data have no such split."""
    sources, references = load_items(data, split)
    tokenised = load_tokenised_references(data, split)
    wrapped = None if tokenised is None else [[line] for line in tokenised]
    return TestSet(split, sources, references, wrapped)


def dev_sources(model: Path, most: int) -> list[str]:
    """Read the first sources of the dev split of a run's recipe.

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
    """Return the split by which a finished model is judged: test, or dev where there is no test set or a local copy
    lacks it.

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
    if isinstance(translator, Translator) and isinstance(translator.backend, EncoderOnlyBackend):
        model = translator.backend.model
        task_of(model).check_split(model, translator.tokenizers, items.held)
    return evaluate(
        translator,
        items.sources,
        items.references,
        recipe.evaluation,
        recipe.seed,
        split=items.split,
        tokenised_references=items.tokenised,
    )


def check_items(recipe: Recipe, model: Model, tokenizers: Tokenizers, items: TestSet) -> None:
    """Check, before any work, that these items, if there are any, can be scored. Raises ConfigError."""
    if items.sources:
        check_references(metrics_for(recipe.evaluation.metrics), items.references, items.split)
        task_of(model).check_split(model, tokenizers, items.held)


def describe_search(search: SearchConfig, model: ModelConfig) -> str:
    """Describe how outputs are found, in one word for signatures; only what had a part in it."""
    return RULES[model.task].describe(search, model)


def dev_search(recipe: Recipe) -> SearchConfig:
    """Return how validations during training find outputs."""
    return RULES[recipe.model.task].validation_search(recipe.search, recipe.evaluation.dev_beam)
