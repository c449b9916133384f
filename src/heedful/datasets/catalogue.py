"""The catalogue of named data sets. Knows nothing of tokens and of recipes."""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, final

from heedful.data.corpus import Pair
from heedful.datasets import (
    babi,
    cmudict,
    ewt,
    fsdd,
    histnorm,
    multi30k,
    multibooked,
    sentence_classification,
    sigmorphon,
    snips,
)
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.datasets.published import FileLocation, default_cache
from heedful.datasets.synthetic import SPLITS, SyntheticTask, task_pairs
from heedful.datasets.synthetic_tasks import CORE_TASKS
from heedful.errors import ConfigError

IMPORTED = "imported"  # what the recipe of an imported model names instead of a data set
TASK_SEED = 1
TASK_HELD_OUT = 1000  # dev and test pairs of a synthetic task


@final
class Synthetic(DataSet):
    """A synthetic task as a data set: any number of training pairs."""

    def __init__(self, task: SyntheticTask, pairs: int) -> None:
        self._task = task
        self.about = DataSetFacts(
            name=task.name,
            description=self._task.description,
            licence="none needed",
            source_language=self._task.sides[0],
            target_language=self._task.sides[1],
            splits=SPLITS,
            group="a source",
            form={"tags": "tags", "label": "label"}.get(self._task.sides[1], "sentences"),
        )
        self._pairs = pairs

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        return task_pairs(self._task, TASK_SEED, split, self._pairs if split == "train" else TASK_HELD_OUT)

    def references(self, split: str) -> list[list[str]]:
        return [self._task.references(*pair) for pair in self.read(split)]


class _Published(NamedTuple):
    """Data sets whose files are published in one place."""

    names: Collection[str]
    of: Callable[[str, FileLocation], DataSet]
    base_url: str
    cache: str  # the folder of their downloads


PUBLISHED = (
    _Published(multi30k.NAMES, multi30k.Multi30k, multi30k.BASE_URL, "multi30k"),
    _Published(sigmorphon.NAMES, sigmorphon.Sigmorphon2021, sigmorphon.BASE_URL, "sigmorphon2021-g2p"),
    _Published(babi.NAMES, babi.Babi, babi.BASE_URL, "babi"),
    _Published(
        sentence_classification.NAMES,
        sentence_classification.SentenceClassification,
        sentence_classification.BASE_URL,
        "sentence-classification",
    ),
    _Published(ewt.NAMES, ewt.Ewt, ewt.BASE_URL, "ud-english-ewt"),
    *(_Published((name,), multibooked.MultiBooked, base_url, name) for name, base_url in multibooked.BASE_URLS.items()),
    _Published(snips.NAMES, snips.Snips, snips.BASE_URL, "snips"),
    *(_Published((name,), histnorm.Histnorm, base_url, "histnorm") for name, base_url in histnorm.BASE_URLS.items()),
)


def published_names() -> list[str]:
    """List the names of all data sets that are files."""
    return [*cmudict.NAMES, *(name for source in PUBLISHED for name in source.names), fsdd.NAME]


def get(
    name: str,
    folder: Path | None = None,
    cache: Path | None = None,
    base_url: str | None = None,
    pairs: int = 20_000,
    tasks: Mapping[str, SyntheticTask] = CORE_TASKS,
) -> DataSet:
    """Return the data set with this name. Its files are in `folder`, a local copy, or are downloaded into `cache` when
    needed.

    `base_url` is another place with the same files; `pairs` are those of train where these are made at will; `tasks`
    are the synthetic tasks that can be named.
    """
    if name in cmudict.NAMES:
        return cmudict.Cmudict(name, folder)
    for published in PUBLISHED:
        if name in published.names:
            cache = (cache or default_cache()) / published.cache
            return published.of(name, FileLocation(base_url or published.base_url, folder, cache))
    if name == fsdd.NAME:
        return fsdd.DigitStrings(folder, pairs)
    if name in tasks:
        if folder is not None:
            raise ConfigError(f"The data set `{name}` is made, not read, so it takes no folder.", hint="Leave it out.")
        return Synthetic(tasks[name], pairs)
    if name == IMPORTED:
        hint = "Name your own files: --source FILE --reference FILE."
        raise ConfigError("This model was imported, and has no data of its own.", hint=hint)
    near = difflib.get_close_matches(name, [*published_names(), *tasks], n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`heedful data list` shows all."
    raise ConfigError(f"There is no data set `{name}`.", hint=hint)
