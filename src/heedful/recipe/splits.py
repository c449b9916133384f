"""The one door to the pairs of a recipe: a named data set, or files of one's own. Knows nothing of tokens."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from heedful.data.config import DataConfig
from heedful.data.corpus import Pair, Reader, read_pairs
from heedful.datasets.catalogue import get, published_names
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.synthetic import SPLITS
from heedful.errors import ConfigError
from heedful.recipe.tables import TASKS


def names() -> list[str]:
    """List the names of all data sets."""
    return [*published_names(), *TASKS]


def find_data_set(name: str, folder: Path | None = None) -> DataSet:
    """Return the data set with this name, which may be a synthetic task of the gallery."""
    return get(name, folder, tasks=TASKS)


def about() -> list[DataSetFacts]:
    """Describe each data set."""
    return [get(name, tasks=TASKS).about for name in names()]


def named(data: DataConfig) -> DataSet:
    """Return the data set that the settings name."""
    if data.catalogue is None:
        raise ValueError("`data.catalogue` must name a data set, but is left out.")
    return get(data.catalogue, Path(data.place(data.folder)) if data.folder else None, pairs=data.pairs, tasks=TASKS)


def splits(data: DataConfig) -> tuple[str, ...]:
    """Return the splits that the data have."""
    if data.catalogue is not None:
        return named(data).about.splits
    return tuple(split for split in SPLITS if _own_files(data, split))


def readers(data: DataConfig) -> dict[str, Reader]:
    """Return functions that open train, dev and test, as far as the data have them."""
    return {split: partial(load_split, data, split) for split in SPLITS if split in splits(data)}


def optional_splits(data: DataConfig) -> tuple[str, ...]:
    """Return the splits that a local copy may lack: the test set of a named data set, which training does not need."""
    return ("test",) if data.catalogue is not None else ()


def load_split(data: DataConfig, split: str) -> Iterable[Pair]:
    """Read the pairs of a split, in their order: train, dev, test, or another one that a named data set has.

    Raises HeedfulError where files are missing or wrong, ConfigError where there is no such split.
    """
    if data.catalogue is not None:
        return named(data).read(split)
    return read_pairs(_required_files(data, split), data.source_column, data.target_column)


def load_items(data: DataConfig, split: str) -> tuple[list[str], list[list[str]]]:
    """Read a split to score on: the sources, and all right targets of each. Files of one's own are read once."""
    if data.catalogue is not None:
        return [pair.source for pair in load_split(data, split)], load_references(data, split)
    pairs = list(load_split(data, split))
    return [pair.source for pair in pairs], [[pair.target] for pair in pairs]


def load_references(data: DataConfig, split: str) -> list[list[str]]:
    """Return all right targets of each pair of `load_split(data, split)`, in the same order."""
    if data.catalogue is not None:
        return named(data).references(split)
    return [[pair.target] for pair in load_split(data, split)]


def load_tokenised_references(data: DataConfig, split: str) -> list[str] | None:
    """Return the references that the published protocol scores, one a pair of `load_split(data, split)`, or None."""
    return named(data).tokenised_references(split) if data.catalogue is not None else None


def _own_files(data: DataConfig, split: str) -> tuple[str, ...]:
    files = {"train": data.train, "dev": data.dev, "test": data.test}.get(split, ())
    return tuple(map(data.place, files))


def _required_files(data: DataConfig, split: str) -> tuple[str, ...]:
    files = _own_files(data, split)
    if not files:
        hint = f"Set `data.{split}` to its files." if split in SPLITS else f"There are: {', '.join(splits(data))}."
        raise ConfigError(f"There is no {split} split: the recipe names no files for it.", hint=hint)
    return files
