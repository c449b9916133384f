"""Splitting a corpus into train, dev and test files.

Knows nothing of tokens. Pairs with the same source stay together, so that no held-out source is seen in training.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from heedful.data.corpus import Pair, Reader, read_pairs
from heedful.data.survey import text_hash
from heedful.errors import ConfigError
from heedful.text.new_files import creating, refuse_existing

SPLITS = ("train", "dev", "test")
Columns = tuple[str, str]  # as `read_pairs` takes them
HEADER = b"source\ttarget\n"


class Sizes(NamedTuple):
    """Sizes of the splits to make, and the seed that assigns the pairs."""

    dev: int
    test: int
    seed: int


def split_corpus(paths: Sequence[Path], folder: Path, sizes: Sizes, columns: Columns) -> dict[str, list[Path]]:
    """Write train, dev and test files into `folder`, and say which files each split has.

    Two aligned files become two to a split, a table becomes a .tsv with a header. A split may be larger than asked for,
    by the pairs that share its last source. Files that are there are never overwritten.
    """
    dev, test, seed = sizes
    if dev < 0 or test < 0 or dev + test == 0:
        hint = "For example: --dev 1000 --test 1000"
        raise ConfigError(f"Nothing to split off: {dev} pairs of dev and {test} of test.", hint=hint)
    files = {split: _names(paths, folder, split) for split, size in zip(SPLITS, (1, dev, test), strict=True) if size}
    names = [path.name for group in files.values() for path in group]
    refuse_existing(folder, names)
    hashes = np.array([text_hash(pair.source) for pair in read_pairs(paths, *columns)], np.uint64)
    places = _assign(hashes, dev, test, seed)
    if not (places == 0).any():
        hint = f"There are {len(hashes):,} pairs in all."
        raise ConfigError(f"With {dev:,} pairs of dev and {test:,} of test, nothing is left to train on.", hint=hint)
    with creating(folder, names) as opened:
        file_of = dict(zip(names, opened, strict=True))
        outputs = {split: [file_of[path.name] for path in group] for split, group in files.items()}
        if len(paths) == 1:
            for (output,) in outputs.values():
                output.write(HEADER)
        for pair, place in zip(read_pairs(paths, *columns), places, strict=True):
            _write(pair, outputs[SPLITS[place]])
    return files


def write_splits(readers: Mapping[str, Reader], folder: Path) -> list[Path]:
    """Write each split as a .tsv with a header; files that are there are never overwritten."""
    paths = splits_to_write(readers, folder)
    with creating(folder, [path.name for path in paths]) as outputs:
        for read, output in zip(readers.values(), outputs, strict=True):
            output.write(HEADER)
            for pair in read():
                _write(pair, [output])
    return paths


def splits_to_write(splits: Iterable[str], folder: Path) -> list[Path]:
    """List the files that `write_splits` will write. Raises ConfigError where one is there already."""
    paths = [folder / f"{split}.tsv" for split in splits]
    refuse_existing(folder, [path.name for path in paths])
    return paths


def _assign(hashes: np.ndarray, dev: int, test: int, seed: int) -> np.ndarray:
    """Assign each pair to a split, as its index in SPLITS; groups of equal sources are drawn until a split is full."""
    groups, group_of, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(groups))
    before = np.cumsum(counts[order]) - counts[order]  # pairs in the groups drawn before this one
    n_test = int(np.searchsorted(before, test))  # the first group that starts when test is full
    n_dev = int(np.searchsorted(before, before[n_test] + dev)) if n_test < len(groups) else len(groups)
    split_of = np.zeros(len(groups), np.int8)
    split_of[order[:n_test]] = SPLITS.index("test")
    split_of[order[n_test:n_dev]] = SPLITS.index("dev")
    return split_of[group_of]


def _names(paths: Sequence[Path], folder: Path, split: str) -> list[Path]:
    """Name the files: train.en, train.de from a.en.gz, a.de.gz; train.source.txt, train.target.txt from two files in
    .txt.
    """
    if len(paths) == 1:
        return [folder / f"{split}.tsv"]
    suffixes = [Path(path.name.removesuffix(".gz")).suffix for path in paths]
    if suffixes[0] == suffixes[1]:
        suffixes = [f".{side}{suffix}" for side, suffix in zip(("source", "target"), suffixes, strict=True)]
    return [folder / f"{split}{suffix}" for suffix in suffixes]


def _write(pair: Pair, outputs: Sequence[BinaryIO]) -> None:
    if len(outputs) == 1:
        cells = (text.replace("\t", " ") for text in pair)  # a .tsv has no way to write a tab
        outputs[0].write(("\t".join(cells) + "\n").encode())
    else:
        for text, output in zip(pair, outputs, strict=True):
            output.write(f"{text}\n".encode())
