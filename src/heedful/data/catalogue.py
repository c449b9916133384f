"""The catalogue of named data sets, and the one door to the pairs of a recipe: named data or your own files.

Knows nothing of tokens.
"""

import difflib
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple, final

from heedful.data import babi, cmudict, ewt, fsdd, histnorm, multi30k, multibooked, sentences, sigmorphon, snips
from heedful.data.config import DataConfig
from heedful.data.corpus import Pair, Reader, read_parallel
from heedful.data.named import About, DataSet
from heedful.data.published import Place, default_cache
from heedful.data.task import SPLITS
from heedful.data.tasks import TASKS, get_task, task_pairs
from heedful.errors import ConfigError

IMPORTED = "imported"  # what the recipe of an imported model names instead of a data set
TASK_SEED = 1
TASK_HELD_OUT = 1000  # dev and test pairs of a synthetic task


@final
class Synthetic(DataSet):
    """A synthetic task as a data set: any number of training pairs."""

    def __init__(self, name: str, pairs: int) -> None:
        self._task = get_task(name)
        self.about = About(
            name=name,
            description=self._task.description,
            licence="none needed",
            source_language=self._task.sides[0],
            target_language=self._task.sides[1],
            splits=SPLITS,
            group="a source",
        )
        self._pairs = pairs

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        return task_pairs(self.about.name, TASK_SEED, split, self._pairs if split == "train" else TASK_HELD_OUT)

    def references(self, split: str) -> list[list[str]]:
        return [self._task.references(*pair) for pair in self.read(split)]


class _Published(NamedTuple):
    """Data sets whose files are published in one place."""

    names: Collection[str]
    of: Callable[[str, Place], DataSet]
    base_url: str
    cache: str  # the folder of their downloads


PUBLISHED = (
    _Published(multi30k.NAMES, multi30k.Multi30k, multi30k.BASE_URL, "multi30k"),
    _Published(sigmorphon.NAMES, sigmorphon.Sigmorphon2021, sigmorphon.BASE_URL, "sigmorphon2021-g2p"),
    _Published(babi.NAMES, babi.Babi, babi.BASE_URL, "babi"),
    _Published(sentences.NAMES, sentences.Sentences, sentences.BASE_URL, "sentence-classification"),
    _Published(ewt.NAMES, ewt.Ewt, ewt.BASE_URL, "ud-english-ewt"),
    *(_Published((name,), multibooked.MultiBooked, base_url, name) for name, base_url in multibooked.BASE_URLS.items()),
    _Published(snips.NAMES, snips.Snips, snips.BASE_URL, "snips"),
    *(_Published((name,), histnorm.Histnorm, base_url, "histnorm") for name, base_url in histnorm.BASE_URLS.items()),
)


def names() -> list[str]:
    """The names of all data sets."""
    published = [name for source in PUBLISHED for name in source.names]
    return [*cmudict.NAMES, *published, fsdd.NAME, *TASKS]


def get(
    name: str, folder: Path | None = None, cache: Path | None = None, base_url: str | None = None, pairs: int = 20_000
) -> DataSet:
    """The data set with this name. Its files are in `folder`, a local copy, or are downloaded into `cache` when needed.

    `base_url` is another place with the same files; `pairs` are those of train where these are made at will.
    """
    if name in cmudict.NAMES:
        return cmudict.Cmudict(name, folder)
    for published in PUBLISHED:
        if name in published.names:
            cache = (cache or default_cache()) / published.cache
            return published.of(name, Place(base_url or published.base_url, folder, cache))
    if name == fsdd.NAME:
        return fsdd.DigitStrings(folder, pairs)
    if name in TASKS:
        if folder is not None:
            raise ConfigError(f"The data set `{name}` is made, not read, so it takes no folder.", hint="Leave it out.")
        return Synthetic(name, pairs)
    if name == IMPORTED:
        hint = "Name your own files: --source FILE --reference FILE."
        raise ConfigError("This model was imported, and has no data of its own.", hint=hint)
    near = difflib.get_close_matches(name, names(), n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`heedful data list` shows all."
    raise ConfigError(f"There is no data set `{name}`.", hint=hint)


def about() -> list[About]:
    """What to know of each data set."""
    return [get(name).about for name in names()]


def named(data: DataConfig) -> DataSet:
    """The data set that the settings name."""
    if data.catalogue is None:
        raise ValueError("`data.catalogue` must name a data set, but is left out.")
    return get(data.catalogue, Path(data.place(data.folder)) if data.folder else None, pairs=data.pairs)


def splits(data: DataConfig) -> tuple[str, ...]:
    """The splits that the data have."""
    if data.catalogue is not None:
        return named(data).about.splits
    return tuple(split for split in SPLITS if _own_files(data, split))


def readers(data: DataConfig) -> dict[str, Reader]:
    """For train, dev and test, as far as the data have them: what opens the split."""
    return {split: partial(load_split, data, split) for split in SPLITS if split in splits(data)}


def optional_splits(data: DataConfig) -> tuple[str, ...]:
    """The splits that a local copy may lack: the test set of a named data set, which training does not need."""
    return ("test",) if data.catalogue is not None else ()


def load_split(data: DataConfig, split: str) -> Iterable[Pair]:
    """The pairs of a split, in their order: train, dev, test, or another one that a named data set has.

    Raises HeedfulError where files are missing or wrong, ConfigError where there is no such split.
    """
    if data.catalogue is not None:
        return named(data).read(split)
    return read_parallel(_required_files(data, split), data.source_column, data.target_column)


def load_references(data: DataConfig, split: str) -> list[list[str]]:
    """All right targets for each pair of `load_split(data, split)`, in the same order."""
    if data.catalogue is not None:
        return named(data).references(split)
    return [[pair.target] for pair in load_split(data, split)]


def load_tokenised_references(data: DataConfig, split: str) -> list[str] | None:
    """The references that the published protocol scores, one a pair of `load_split(data, split)`, or None."""
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
