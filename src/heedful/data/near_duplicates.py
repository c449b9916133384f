"""Near-duplicates: held-out sources that differ from a training source by a word or two.

Exact copies are found by `heedful.data.check`; this takes far longer, so it runs on demand only.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from datasketch import MinHash, MinHashLSH

from heedful.data.check import Finding
from heedful.data.corpus import Pair, Reader
from heedful.data.survey import plain

PERMUTATIONS = 128
SHINGLE = 5  # characters


class NearDuplicate(NamedTuple):
    """A held-out pair and the training pair whose source is most like its own; numbers are from 0."""

    split: str
    number: int
    train_number: int
    similarity: float  # Jaccard, of the sets of five-character strings; 1 for exact copies
    source: str
    train_source: str


def near_duplicates(splits: Mapping[str, Reader], threshold: float = 0.8) -> list[NearDuplicate]:
    """List the held-out sources with a training source at least so similar, the most similar first.

    Candidates come from MinHash with locality-sensitive hashing, which can miss some near the threshold; the similarity
    itself is exact.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"`threshold` must be in (0, 1], but is {threshold}.")
    index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
    held_out: dict[str, tuple[str, int, str]] = {}
    for split, read in splits.items():
        if split != "train":
            for number, pair in enumerate(read()):
                held_out[f"{split}:{number}"] = split, number, pair.source
                index.insert(f"{split}:{number}", _minhash(_shingles(pair.source)))
    best: dict[str, NearDuplicate] = {}
    for train_number, pair in enumerate(_pairs(splits)):
        shingles = _shingles(pair.source)
        for key in index.query(_minhash(shingles)):
            split, number, source = held_out[str(key)]
            similarity = _jaccard(shingles, _shingles(source))
            if similarity >= threshold and (str(key) not in best or similarity > best[str(key)].similarity):
                best[str(key)] = NearDuplicate(split, number, train_number, similarity, source, pair.source)
    return sorted(best.values(), key=lambda near: (-near.similarity, near.split, near.number))


def near_findings(splits: Mapping[str, Reader], threshold: float = 0.8) -> list[Finding]:
    """Report the near-duplicates that are no exact copies, one warning a held-out split."""
    found = [near for near in near_duplicates(splits, threshold) if plain(near.source) != plain(near.train_source)]
    findings = []
    for split in dict.fromkeys(near.split for near in found):
        mine = [near for near in found if near.split == split]
        first = mine[0]
        example = f"{first.source[:80]!r} and {first.train_source[:80]!r} (train:{first.train_number + 1})"
        text = f"{len(mine):,} source(s) nearly in the training data (similarity {threshold} or more): {example}."
        hint = "Scores on them flatter: remove their like from train, or report the rest apart."
        findings.append(Finding("warning", "near-duplicates", f"{split}:{first.number + 1}", text, hint))
    return findings


def _pairs(splits: Mapping[str, Reader]) -> Iterable[Pair]:
    return splits["train"]() if "train" in splits else ()


def _shingles(text: str) -> frozenset[str]:
    text = f" {plain(text)} "
    return frozenset(text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1)))


def _minhash(shingles: frozenset[str]) -> MinHash:
    minhash = MinHash(num_perm=PERMUTATIONS)
    minhash.update_batch([shingle.encode() for shingle in shingles])
    return minhash


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b)
