"""Exposure bias: accuracy teacher-forced and free-running, and how a model goes on after an error.

Teacher-forced token accuracy says little of what a model writes, so it never stands alone here. Knows ids, and texts
only to encode them; no file and no command line.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from rapidfuzz.distance import Levenshtein

from heedful.data.batch import Batch, collate
from heedful.decoding.config import BeamSearch
from heedful.decoding.search import NEVER, Request, log_probabilities
from heedful.decoding.segments import batches
from heedful.decoding.sequence_backend import SequenceBackend
from heedful.decoding.translator import Translator
from heedful.errors import HeedfulError
from heedful.models.device import device_of
from heedful.models.interface import Seq2Seq
from heedful.text.vocabulary import EOS

Ids = Sequence[int]


class AtPosition(NamedTuple):
    """Share of right tokens at one position, counted from 1, over the n targets that reach it (EOS is a token)."""

    position: int
    n: int
    teacher_forced: float
    free_running: float


class AfterError(NamedTuple):
    """Share of right tokens so many positions behind the last given one, free running, over n targets: where what was
    given is gold, and where its last token is wrong.
    """

    distance: int
    n: int
    after_gold: float
    after_wrong: float


class Exposure(NamedTuple):
    """Shares from 0 to 1. A token (EOS is one) is right if the target has it there; free running is greedy."""

    outputs: int
    tokens: int
    teacher_forced_tokens: float  # p: each token predicted behind gold ones
    free_running_tokens: float  # behind the model's own; a token too many makes all that follow wrong
    free_running_edits: float  # insertions, deletions and exchanges for each token of the targets, EOS apart
    teacher_forced_outputs: float  # p^T, the mean over the targets' lengths T
    free_running_outputs: float  # exactly the target
    by_position: list[AtPosition]
    error_at: int  # the position, counted from 1, of the error that is forced
    after_error: list[AfterError]


class FollowedTarget(NamedTuple):
    """One target, and what the model made of it: ids without BOS and EOS, but for `forced`."""

    target: Ids
    forced: Ids  # the teacher-forced prediction at each position, EOS's included
    free: Ids
    after_gold: Ids | None  # given the target up to the place of the error; None where it is shorter
    after_wrong: Ids | None  # the same with a wrong token at that position


def compounded(p: float, lengths: Sequence[int]) -> float:
    """Return the mean of p^T: whole outputs that are right, if each of T tokens is with chance p, whatever the others
    are.

    Where errors keep together in few outputs, more are right than that.
    """
    return sum(p**length for length in lengths) / len(lengths)


def measure_exposure(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], error_at: int = 1
) -> Exposure:
    """Measure the exposure bias of a translator's model on pairs of texts. Raises HeedfulError as `exposure` does, for
    an encoder-only model, and for a pair that is too long for the model.
    """
    model = translator.backend.decoder("Exposure bias")
    pairs = translator.encode_pairs(sources, targets)
    translator.backend.check_pairs(pairs)
    return exposure(model, pairs, error_at, translator.search.max_tokens)


def exposure(model: Seq2Seq, pairs: Sequence[tuple[Ids, Ids]], error_at: int = 1, max_tokens: int = 4096) -> Exposure:
    """Compare teacher-forced with free-running predictions of (source, target) ids: exposure bias, measured. [Ranzato
    2016, 1; Bengio 2015, 1]

    The forced error is at position `error_at` of each target that reaches it: after the reference tokens, the
    likeliest token that is neither the reference's nor EOS stands there, and the model runs freely from it.

    Raises HeedfulError where there is no pair, or no target reaches the position.
    """
    if not pairs:
        raise HeedfulError("There are no pairs, so there is nothing to measure.")
    longest = max(len(target) for _, target in pairs)
    if not 1 <= error_at <= longest:
        hint = f"Take a position from 1 to {longest}."
        raise HeedfulError(f"No target has a token at position {error_at}, so none can be wrong there.", hint=hint)
    model.eval()
    followed: list[FollowedTarget] = []
    for numbers in batches([max(map(len, pair)) for pair in pairs], max_tokens):
        followed += _follow(model, [pairs[number] for number in numbers], error_at)
    return summarise(followed, error_at)


def summarise(followed: Sequence[FollowedTarget], error_at: int) -> Exposure:
    """Compute the shares that outputs come to."""
    forced = [_right(one.forced, one.target, end=()) for one in followed]
    free = [_right(one.free, one.target) for one in followed]
    lengths = [len(one.target) + 1 for one in followed]
    tokens = sum(lengths)
    p = sum(map(sum, forced)) / tokens
    edits = sum(Levenshtein.distance(list(one.free), list(one.target)) for one in followed)
    return Exposure(
        outputs=len(followed),
        tokens=tokens,
        teacher_forced_tokens=p,
        free_running_tokens=sum(map(sum, free)) / tokens,
        free_running_edits=edits / max(1, tokens - len(followed)),
        teacher_forced_outputs=compounded(p, lengths),
        free_running_outputs=sum(map(all, free)) / len(followed),
        by_position=[AtPosition(*row) for row in _shares(forced, free)],
        error_at=error_at,
        after_error=_after_error(followed, error_at),
    )


def _after_error(followed: Sequence[FollowedTarget], error_at: int) -> list[AfterError]:
    gold, wrong = [], []
    for one in followed:
        if one.after_gold is not None and one.after_wrong is not None:
            gold.append(_right(one.after_gold, one.target)[error_at:])
            wrong.append(_right(one.after_wrong, one.target)[error_at:])
    return [AfterError(*row) for row in _shares(gold, wrong)]


def _shares(one: Sequence[Sequence[bool]], other: Sequence[Sequence[bool]]) -> list[tuple[int, int, float, float]]:
    """Count for each position from 1: how many rows reach it, and the share of them that is right
    there, in both modes.
    """
    rows = []
    for place in range(max(map(len, one), default=0)):
        reaching = [number for number, row in enumerate(one) if len(row) > place]
        share = [sum(side[number][place] for number in reaching) / len(reaching) for side in (one, other)]
        rows.append((place + 1, len(reaching), share[0], share[1]))
    return rows


def _right(output: Ids, target: Ids, end: Ids = (EOS,)) -> list[bool]:
    """Tell for each token of the target, EOS included, whether the output, with what ends it, has
    it at its position.
    """
    said, wanted = [*output, *end], [*target, EOS]
    return [place < len(said) and said[place] == token for place, token in enumerate(wanted)]


@torch.inference_mode()
def _follow(model: Seq2Seq, pairs: Sequence[tuple[Ids, Ids]], error_at: int) -> list[FollowedTarget]:
    batch = collate([(list(source), list(target)) for source, target in pairs], range(len(pairs)))
    said = _behind_gold(model, batch.to(device_of(model)), error_at)
    go_on = _continuing(model)
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    reaching = [number for number, target in enumerate(targets) if len(target) >= error_at]
    asked = [sources[number] for number in reaching]
    gold = go_on(asked, [targets[number][:error_at] for number in reaching], [targets[number] for number in reaching])
    wrong_prefixes = [[*targets[number][: error_at - 1], said.wrong[number]] for number in reaching]
    wrong = go_on(asked, wrong_prefixes, [targets[number] for number in reaching])
    after_gold, after_wrong = dict(zip(reaching, gold, strict=True)), dict(zip(reaching, wrong, strict=True))
    return [
        FollowedTarget(
            target, said.best[number][: len(target) + 1], free, after_gold.get(number), after_wrong.get(number)
        )
        for number, (target, free) in enumerate(zip(targets, go_on(sources, [()] * len(pairs), targets), strict=True))
    ]


class _Said(NamedTuple):
    """Teacher-forced predictions: the best id at each position of each row, and the best wrong one at the error."""

    best: list[list[int]]
    wrong: list[int]  # of no meaning on rows that end before


def _behind_gold(model: Seq2Seq, batch: Batch, error_at: int) -> _Said:
    logits = model.logits(model(batch.src, batch.src_mask, batch.tgt_in))
    log_p = log_probabilities(logits.flatten(0, 1)).view_as(logits)  # [B T V]
    best = log_p.argmax(dim=2).tolist()
    place = min(error_at, log_p.shape[1]) - 1
    others = log_p[:, place].scatter(1, batch.tgt_out[:, place, None], NEVER)
    others[:, EOS] = NEVER
    return _Said(best, others.argmax(dim=1).tolist())


def _continuing(model: Seq2Seq) -> Callable[[Sequence[Ids], Sequence[Ids], Sequence[Ids]], list[list[int]]]:
    """Make a function that gives the greedy outputs of sources that begin with given ids, each long enough to pass its
    target.
    """
    greedy = SequenceBackend(model, BeamSearch(beam=1), str)  # greedy search compares no texts
    extra, readable = greedy.search.max_extra, model.longest

    def longest(source: Ids, target: Ids) -> int:
        wanted = max(len(source) + extra, len(target) + 1)
        return wanted if readable is None else min(wanted, readable - 1)

    def go_on(sources: Sequence[Ids], prefixes: Sequence[Ids], targets: Sequence[Ids]) -> list[list[int]]:
        if not sources:
            return []
        ends = [longest(*both) for both in zip(sources, targets, strict=True)]
        requests = [Request(*both) for both in zip(ends, prefixes, strict=True)]
        return [found[0].ids for found in greedy.hypotheses(sources, requests, 1)]

    return go_on
