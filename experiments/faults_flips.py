"""Single bytes of each file of a run and of its bundle, flipped at random: what reads the file must not believe it."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from faults_world import LINES
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.events import silent
from heedful.models.weights import FILE, average
from heedful.pipeline.load import load
from heedful.pipeline.prepare import prepare
from heedful.pipeline.resume import learnt_from
from heedful.recipe.recipe import stored_recipe
from heedful.recipe.tables import build_model
from heedful.records.run import Run
from heedful.tasks.task import EncodedCorpus
from heedful.training.checkpoint import CheckpointFolder
from heedful.training.loop import build_optimizer

FOR_PEOPLE = (".lock", "model/README.md")  # that no command reads
Answer = Any


class Flips(NamedTuple):
    """What became of the flips of one file."""

    file: str
    flips: int
    refused: int  # an error said which file is damaged
    mended: int  # it was made anew from what it was made of, and that was said
    same: int  # the flipped byte decides nothing: the answer is the same
    silent: int  # another answer, without a word
    crashed: int  # an error that is none of heedful's


def flip_files(run: Path, flips: int, pattern: str = "*") -> Iterator[Flips]:
    """Flip random bytes of each file of a run, or of those whose names are like this, one at a time."""
    chance = random.Random(1)
    for path in sorted(path for path in run.rglob(pattern) if path.is_file()):
        name = path.relative_to(run).as_posix()
        if name not in FOR_PEOPLE:
            yield _flip(path, name, _reader(run, name), flips, chance)


def _flip(path: Path, name: str, read: Callable[[], Answer], flips: int, chance: random.Random) -> Flips:
    whole, right = path.read_bytes(), read()
    counts = dict.fromkeys(("refused", "mended", "same", "silent", "crashed"), 0)
    for _ in range(flips if whole else 0):
        place, change = chance.randrange(len(whole)), chance.randint(1, 255)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
        try:
            found = read()
            outcome = "same" if _equal(found, right) else "silent"
            if outcome == "same" and path.read_bytes() == whole:
                outcome = "mended"
        except HeedfulError:
            outcome = "refused"
        except Exception:  # whatever it is, it is no message to a user
            outcome = "crashed"
        counts[outcome] += 1
        path.write_bytes(whole)
    return Flips(name, flips if whole else 0, **counts)


def _reader(run: Path, name: str) -> Callable[[], Answer]:
    """What the file decides, by the code that reads it."""
    top, _, rest = name.partition("/")
    if top == "model":
        return lambda: _answers(run)
    if top == "checkpoints":
        return lambda: _checkpoints(run)
    if top == "data":
        return lambda: _data(run)
    if top == "outputs":
        return lambda: Run.open(run).read_outputs(rest.removesuffix(".jsonl"))
    return {
        "config.resolved.toml": lambda: stored_recipe(run),
        "environment.json": lambda: Run.open(run).environment(),
        "log.jsonl": lambda: Run.open(run).read_log(),
        "results.csv": lambda: Run.open(run).read_results(),
        "errors.jsonl": lambda: Run.open(run).read_errors(),
        "data_manifest.csv": lambda: list(Run.open(run).read_manifest()),
    }.get(name, lambda: _records(run))


def _answers(run: Path) -> Answer:
    translator = load(run)
    texts = [(one.text, one.score) for one in translator.translate(LINES)]
    return texts, [one.log_p for one in translator.score(LINES, LINES[::-1])]


def _checkpoints(run: Path) -> Answer:
    """What training goes on from, what would be averaged, and which one is best."""
    recipe, folder = stored_recipe(run), CheckpointFolder(run / "checkpoints", keep=2)
    tokenizers = _opened(run).tokenizers
    model = build_model(recipe.model, len(tokenizers.source), len(tokenizers.target))
    optimizer = build_optimizer(model, recipe.training)
    progress = folder.load_last(model, optimizer)
    state = [value for state in optimizer.state.values() for value in state.values()]
    mean = average([one / FILE for one in folder.validated()])
    best = folder.best()
    return progress, [*model.parameters(), *state, *mean.values()], best, average([best / FILE] if best else [])


def _data(run: Path) -> Answer:
    prepared = _opened(run)
    stores = (prepared.train, prepared.dev)
    pairs = [(store.ids(i), store.pair(i), store.origin(i)) for store in stores for i in range(len(store))]
    texts = [[side.symbol(index) for index in range(len(side))] for side in prepared.tokenizers]
    return pairs, texts, [store.dropped for store in stores], [side.encode(LINES[0]) for side in prepared.tokenizers]


def _opened(run: Path) -> EncodedCorpus:
    return prepare(stored_recipe(run), run / "data", silent, learnt=learnt_from(Run.open(run)))


def _records(run: Path) -> Answer:
    opened = Run.open(run)
    outputs = opened.read_outputs("test")
    return opened.config(), opened.environment(), opened.read_results(), opened.read_errors(), outputs


def _equal(left: Answer, right: Answer) -> bool:
    if isinstance(left, Tensor):
        return torch.equal(left, right)
    if isinstance(left, tuple | list) and not hasattr(left, "_fields"):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return left == right
