"""The memory-mapped store: token ids and texts of a training corpus in one Arrow file.

Knows nothing of batches. Building and reading keep a chunk in memory, however large the corpus is.
"""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from heedful.data.corpus import Pair
from heedful.errors import HeedfulError
from heedful.records.checksums import SUMS, check_files, write_checksums
from heedful.text.atomic_files import replacing, write_text
from heedful.text.tokenizer import Tokenizers

CHUNK = 8192  # pairs that are encoded, written and mapped together
FACTS, PAIRS = "store.json", "pairs.arrow"
FORMAT = 1
Ids = NDArray[np.int32]
Possible = Callable[[Sequence[int], Sequence[int]], bool]  # whether a model can learn a pair of (source, target) ids

_SCHEMA = pa.schema(
    [
        ("source_ids", pa.list_(pa.int32())),
        ("target_ids", pa.list_(pa.int32())),
        ("source", pa.large_string()),
        ("target", pa.large_string()),
        ("origin", pa.int64()),
    ]
)


class _Side(NamedTuple):
    """The ids of one side of a chunk, as views of the mapped file: row r is ids[offsets[r]:offsets[r + 1]]."""

    ids: Ids
    offsets: NDArray[np.int32]

    @classmethod
    def of(cls, column: pa.Array) -> "_Side":
        values = column.values.to_numpy(zero_copy_only=True)
        return cls(values, column.offsets.to_numpy(zero_copy_only=True))

    def __getitem__(self, row: int) -> Ids:
        return self.ids[self.offsets[row] : self.offsets[row + 1]]


@final
class PairStore:
    """The pairs that training uses, by number; see `build_store` for which of a corpus these are."""

    def __init__(self, chunks: Sequence[pa.RecordBatch], facts: dict) -> None:
        """Open a store: `chunks` are record batches of a mapped file, `facts` what was noted when it was built."""
        self._chunks = chunks
        self._sides = [(_Side.of(chunk.column("source_ids")), _Side.of(chunk.column("target_ids"))) for chunk in chunks]
        self._starts = [0, *np.cumsum([chunk.num_rows for chunk in chunks]).tolist()]
        self.dropped: dict[str, int] = facts["dropped"]  # reason -> pairs of the corpus that are not here
        self.fingerprint: str = facts[
            "fingerprint"
        ]  # SHA-256 of the texts, as `heedful.data.corpus.fingerprint` has it
        self.tokenizer_fingerprints: tuple[str, str] = tuple(facts["tokenizers"])
        self.source_lengths: Ids = self._lengths(0)  # tokens without EOS
        self.target_lengths: Ids = self._lengths(1)

    def __len__(self) -> int:
        return self._starts[-1]

    def arrays(self, index: int) -> tuple[Ids, Ids]:
        """Return the ids of a pair as views of the mapped file, without BOS and EOS."""
        chunk, row = self._place(index)
        source, target = self._sides[chunk]
        return source[row], target[row]

    def ids(self, index: int) -> tuple[list[int], list[int]]:
        """Return the ids of a pair, without BOS and EOS."""
        source, target = self.arrays(index)
        return source.tolist(), target.tolist()

    def pair(self, index: int) -> Pair:
        """Return the texts of a pair."""
        chunk, row = self._place(index)
        return Pair(
            self._chunks[chunk].column("source")[row].as_py(), self._chunks[chunk].column("target")[row].as_py()
        )

    def numbered_pairs(self) -> Iterator[tuple[int, Pair]]:
        """Yield the texts of all pairs, each with its position in the corpus it came from, counted from 0."""
        for chunk in self._chunks:
            columns = [chunk.column(name).to_pylist() for name in ("origin", "source", "target")]
            for origin, source, target in zip(*columns, strict=True):
                yield origin, Pair(source, target)

    def origin(self, index: int) -> int:
        """Return the position of a pair in the corpus it came from, counted from 0."""
        chunk, row = self._place(index)
        return self._chunks[chunk].column("origin")[row].as_py()

    def _place(self, index: int) -> tuple[int, int]:
        if not 0 <= index < self._starts[-1]:
            raise IndexError(f"`index` must be in 0..{len(self) - 1}, but is {index}.")
        chunk = bisect_right(self._starts, index) - 1
        return chunk, index - self._starts[chunk]

    def _lengths(self, side: int) -> Ids:
        lengths = [np.diff(sides[side].offsets) for sides in self._sides]
        return np.concatenate(lengths).astype(np.int32, copy=False)


def build_store(
    folder: Path,
    pairs: Iterable[Pair],
    tokenizers: Tokenizers,
    max_length: int,
    possible: Possible | None = None,
) -> PairStore:
    """Encode a training corpus into `folder`, in place of a store that was there.

    Left out, and counted in `dropped`: pairs with a side that has no token ("empty") or more than `max_length` of them
    ("too long"), and those that are not `possible`, if that is given ("impossible"). Raises HeedfulError where no pair
    is left, or where the disk is full.
    """
    digest = hashlib.sha256()
    dropped = Counter({"empty": 0, "too long": 0, **({} if possible is None else {"impossible": 0})})
    kept = 0
    for name in (FACTS, SUMS):  # from here on until they are written again there is no complete store
        (folder / name).unlink(missing_ok=True)
    with replacing(folder / PAIRS) as file, pa.ipc.new_file(file, _SCHEMA) as writer:
        for chunk in _encoded(pairs, tokenizers, _Limits(max_length, possible), dropped):
            for pair in chunk.pairs:
                digest.update(f"{pair.source}\n{pair.target}\n".encode())
            kept += len(chunk.pairs)
            writer.write_batch(_record_batch(chunk))
        if not kept:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items())
            hint = "`heedful data stats` shows the lengths; `max_length` counts tokens."
            raise HeedfulError(f"No training pair is left: {reasons} (more than {max_length} tokens).", hint=hint)
    facts = {
        "format": FORMAT,
        "pairs": kept,
        "bytes": (folder / PAIRS).stat().st_size,
        "dropped": dict(dropped),
        "fingerprint": digest.hexdigest(),
        "tokenizers": [tokenizers.source.fingerprint, tokenizers.target.fingerprint],
    }
    write_text(folder / FACTS, json.dumps(facts, indent=2) + "\n")
    write_checksums(folder, [FACTS, PAIRS])
    return open_store(folder)


def open_store(folder: Path) -> PairStore:
    """Map a store that `build_store` wrote. Raises HeedfulError where it is missing, half written, or not as it was
    written; stores of earlier versions have no checksums.
    """
    hint = f"Remove {folder} and start again (heedful train --resume RUN): it is made from the corpus."
    try:
        (folder / FACTS).stat()
        check_files(folder, hint=hint)
        facts = json.loads((folder / FACTS).read_text("utf-8"))
        if facts["format"] != FORMAT:
            raise HeedfulError(
                f"{folder} is a store of another version of Heedful (format {facts['format']}).", hint=hint
            )
        if (folder / PAIRS).stat().st_size != facts["bytes"]:
            raise HeedfulError(f"{folder / PAIRS} is damaged: it should have {facts['bytes']:,} bytes.", hint=hint)
        reader = pa.ipc.open_file(pa.memory_map(str(folder / PAIRS)))
        chunks = [reader.get_batch(index) for index in range(reader.num_record_batches)]
        return PairStore(chunks, facts)
    except FileNotFoundError as error:
        raise HeedfulError(
            f"{folder} holds no complete store ({Path(error.filename).name} is missing).", hint=hint
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError, pa.ArrowInvalid, OSError) as error:
        raise HeedfulError(f"{folder} is damaged: {error}.", hint=hint) from None


def left_out_hints(dropped: Mapping[str, int], max_length: int) -> list[str]:
    """Return what to do about pairs that were dropped, for each reason that any was dropped for."""
    hints = {
        "empty": "An empty side teaches nothing.",
        "too long": f"data.max_length is {max_length} tokens; `heedful data stats` shows the lengths.",
        "impossible": "CTC cannot learn the impossible ones: model.upsample gives their targets more places.",
    }
    return [hint for reason, hint in hints.items() if dropped.get(reason)]


class _Chunk(NamedTuple):
    pairs: list[Pair]
    source_ids: list[list[int]]
    target_ids: list[list[int]]
    origins: list[int]


class _Limits(NamedTuple):
    """Limits that decide which pairs are kept."""

    max_length: int
    possible: Possible | None


def _encoded(pairs: Iterable[Pair], tokenizers: Tokenizers, limits: _Limits, dropped: Counter[str]) -> Iterator[_Chunk]:
    """Encode the pairs to keep, chunk by chunk; count the others in `dropped`."""
    stream, start = iter(pairs), 0
    while batch := list(islice(stream, CHUNK)):
        sources = tokenizers.source.encode_all([pair.source for pair in batch])
        targets = tokenizers.target.encode_all([pair.target for pair in batch])
        chunk = _Chunk([], [], [], [])
        for place, (pair, source, target) in enumerate(zip(batch, sources, targets, strict=True), start):
            if not source or not target:
                dropped["empty"] += 1
            elif max(len(source), len(target)) > limits.max_length:
                dropped["too long"] += 1
            elif limits.possible is not None and not limits.possible(source, target):
                dropped["impossible"] += 1
            else:
                chunk.pairs.append(pair)
                chunk.source_ids.append(source)
                chunk.target_ids.append(target)
                chunk.origins.append(place)
        start += len(batch)
        if chunk.pairs:
            yield chunk


def _record_batch(chunk: _Chunk) -> pa.RecordBatch:
    columns = [
        _id_lists(chunk.source_ids),
        _id_lists(chunk.target_ids),
        pa.array([pair.source for pair in chunk.pairs], pa.large_string()),
        pa.array([pair.target for pair in chunk.pairs], pa.large_string()),
        pa.array(chunk.origins, pa.int64()),
    ]
    return pa.record_batch(columns, schema=_SCHEMA)


def _id_lists(ids: list[list[int]]) -> pa.Array:
    offsets = np.zeros(len(ids) + 1, np.int32)
    np.cumsum([len(row) for row in ids], out=offsets[1:])
    values = np.fromiter(chain.from_iterable(ids), np.int32, count=int(offsets[-1]))
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
