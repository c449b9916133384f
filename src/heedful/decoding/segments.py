"""Lines to batches for search, and hypotheses back to lines. Long lines are split, and their outputs joined;
segments are sorted by length and batched under a token budget.

Knows ids and a tokeniser, no model.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from heedful.decoding.backend import END
from heedful.decoding.search import Hypothesis
from heedful.decoding.translation import Candidate, Token, Translation
from heedful.text.normalise import is_blank
from heedful.text.tokenizer import Tokenizer
from heedful.text.vocabulary import UNK

T = TypeVar("T")

_SENTENCE_END = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？])")


class Segment(NamedTuple):
    """A part of a line that is translated as one source."""

    line: int
    ids: list[int]


def segment_line(line: int, text: str, tokenizer: Tokenizer, longest: int) -> list[Segment]:
    """Split a line: the whole of it if it has at most `longest` tokens; else at sentence ends, packed; else every
    `longest` tokens.

    A blank line, or one without any token, has no segment.
    """
    if is_blank(text):
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


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the numbers of sequences of these lengths, longest first, so that rows * longest (with EOS) stays within
    `budget` tokens. One that is longer than the budget is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda number: (-lengths[number], number))
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 1) > budget:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def in_batches(lengths: Sequence[int], budget: int, compute: Callable[[list[int]], Sequence[T]]) -> list[T]:
    """Apply `compute` to batches, given as the numbers of their sequences; return the results in the order of the
    sequences.
    """
    found: dict[int, T] = {}
    for numbers in batches(lengths, budget):
        found.update(zip(numbers, compute(numbers), strict=True))
    return [found[number] for number in range(len(lengths))]


def join_segments(
    segments: Sequence[Segment], found: Sequence[Sequence[Hypothesis]], target: Tokenizer, longest: int
) -> Translation:
    """Join the outputs of a line's segments to its translation; a line without any gives "".

    `longest` is the length in tokens at which lines are split. The n-th best of a line is made of the n-th best of all
    its segments.
    """
    if not segments:
        return Translation("", 0.0, [], [Candidate("", 0.0, 0.0, [])], [])
    candidates = [_join(parts, target) for parts in zip(*found, strict=False)]
    warnings = []
    if len(segments) > 1:
        warnings.append(f"longer than {longest} tokens: translated in {len(segments)} parts")
    unknown = sum(segment.ids.count(UNK) for segment in segments)
    best = candidates[0]
    return Translation(best.text, best.score, best.tokens, candidates, warnings, unknown)


def _join(parts: Sequence[Hypothesis], target: Tokenizer) -> Candidate:
    text = " ".join(target.decode(part.ids) for part in parts)
    scored = [part for part in parts if part.token_log_p]  # an engine may leave them out: EOS always has one
    tokens = [token for part in scored for token in tokens_of(part.ids, part.token_log_p, target)]
    return Candidate(text, sum(part.score for part in parts), sum(part.log_p for part in parts), tokens)


def tokens_of(ids: Sequence[int], log_p: Sequence[float], target: Tokenizer) -> list[Token]:
    """List the pieces of an output, EOS included, with their log-probabilities."""
    pieces = [*(target.piece(i) for i in ids), END]
    return [Token(piece, value) for piece, value in zip(pieces, log_p, strict=True)]
