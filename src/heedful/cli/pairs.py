"""The pairs that the arguments of `heedful data` name: a recipe, a named data set, or files. Prints nothing."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heedful.errors import ConfigError

if TYPE_CHECKING:
    from heedful.data.check import Limits, ReadSplits
    from heedful.data.corpus import Reader
    from heedful.text.tokenizer import Tokenizers


class PairOptions(NamedTuple):
    """Options beside the arguments."""

    dev: list[Path] | None
    test: list[Path] | None
    folder: Path | None
    columns: tuple[str, str]


class OpenedPairs(NamedTuple):
    """Pairs to look at, and what training would do with them."""

    splits: "dict[str, Reader]"
    limits: "Limits"
    tokenizers: "Tokenizers | None"
    optional: tuple[str, ...]  # splits that may be missing

    def read(self) -> "ReadSplits":
        """Read all splits."""
        from heedful.data.check import read_splits

        return read_splits(self.splits, self.tokenizers, self.optional)


def open_pairs(what: list[str], files: PairOptions, tokenizers: Path | None) -> OpenedPairs:
    """Open the pairs of a recipe, of a named data set, or of files."""
    from heedful.data.check import Limits
    from heedful.data.config import DataConfig
    from heedful.data.corpus import reader
    from heedful.data.lines import refuse_second_use
    from heedful.data.spool import is_stream
    from heedful.recipe.splits import optional_splits, readers
    from heedful.text.tokenizer import load_tokenizers

    if tokenizers is not None and not any(tokenizers.glob("tokenizer.*.toml")):
        raise ConfigError(f"{tokenizers} holds no tokenizers.", hint="The folder `data` or `model` of a run does.")
    loaded = None if tokenizers is None else load_tokenizers(tokenizers)
    limits = Limits(whole_words=None if loaded is None else loaded.target.config.kind == "words")
    if what[0].endswith(".toml") and all("=" in setting for setting in what[1:]):
        return _open_recipe(Path(what[0]), what[1:], loaded)
    if len(what) == 1 and "." not in what[0] and not (Path(what[0]).exists() or is_stream(what[0])):
        named = DataConfig(catalogue=what[0], folder=None if files.folder is None else str(files.folder))
        return OpenedPairs(readers(named), limits, loaded, optional_splits(named))
    given = {"train": [Path(path) for path in what], "dev": files.dev, "test": files.test}
    refuse_second_use(path for paths in given.values() for path in paths or ())
    splits = {split: reader(paths, *files.columns) for split, paths in given.items() if paths}
    return OpenedPairs(splits, limits, loaded, ())


def _open_recipe(path: Path, overrides: list[str], tokenizers: "Tokenizers | None") -> OpenedPairs:
    """Open the pairs that a recipe would train on; its tokenizers are learned from the training pairs, unless they are
    given.
    """
    from heedful.data.check import Limits
    from heedful.recipe.recipe import load_recipe
    from heedful.recipe.splits import load_split, optional_splits, readers
    from heedful.text.tokenizer import train_tokenizers

    recipe = load_recipe(path, overrides)
    if tokenizers is None:
        tokenizers = train_tokenizers(recipe.tokenizer, load_split(recipe.data, "train"), recipe.seed)
    data, whole_words = recipe.data, recipe.tokenizer.whole_words
    limits = Limits(data.max_length, recipe.training.max_tokens, data.allow_overlap, recipe.model.labels, whole_words)
    return OpenedPairs(readers(recipe.data), limits, tokenizers, optional_splits(recipe.data))
