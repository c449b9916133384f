"""How lines become batches for search: over-long ones are split, the rest are sorted by length under a token budget.

Knows ids and a tokeniser, no model.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heedful.text.tokenizer import Tokenizer

_SENTENCE_END = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？])")


class Segment(NamedTuple):
    """A piece of a line that is searched at once."""

    line: int
    ids: list[int]


def segment_line(line: int, text: str, tokenizer: Tokenizer, longest: int) -> list[Segment]:
    """The whole line if it has at most `longest` tokens; else at sentence ends, packed; else every `longest` tokens.

    A blank line, or one without any token, has no segment.
    """
    if not text.strip():
        return []
    ids = tokenizer.encode(text)
    if len(ids) <= longest:
        return [Segment(line, ids)] if ids else []
    packed: list[list[int]] = []
    for sentence in _SENTENCE_END.split(text):
        ids = tokenizer.encode(sentence)
        if packed and len(packed[-1]) + len(ids) <= longest:
            packed[-1] = packed[-1] + ids
        else:
            ids = tokenizer.encode(sentence.lstrip())
            packed += [ids[start : start + longest] for start in range(0, len(ids), longest)]
    return [Segment(line, ids) for ids in packed]


def batches(segments: Sequence[Segment], budget: int) -> Iterator[list[int]]:
    """Numbers of segments, longest first, so that rows * longest (with EOS) stays within `budget` tokens.

    A segment that is longer than the budget is a batch of its own.
    """
    order = sorted(range(len(segments)), key=lambda number: (-len(segments[number].ids), number))
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * (len(segments[batch[0]].ids) + 1) > budget:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
