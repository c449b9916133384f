"""Search by CTranslate2 as our own search does it: the same ids in, the same kind of hypotheses out.

Knows folders that `heedful.export.ctranslate2` wrote, and no model of ours. Where the library's search differs from
ours, this makes up for it:

- it ranks by log p / length^alpha. Here it searches without a penalty until the likeliest continuation has ended and K
  hypotheses are found, and these are ranked by our penalty;
- its beam stays K wide, while ours gives up one beam for each hypothesis, so that rarely (in about one sentence of a
  thousand) another one is found;
- it may emit PAD and BOS, and one longest output holds for a whole batch: a sentence that has one of these, or exceeds
  its own longest output, is searched again alone;
- it gives no log-probabilities of tokens: they are scored afterwards, if they are wanted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, final

from heedful.decoding.backend import Backend, Ids, Pair
from heedful.decoding.config import BeamSearch, SearchConfig, require_beam_search
from heedful.decoding.search import Hypothesis, Request, length_penalty
from heedful.decoding.segments import batches
from heedful.errors import ConfigError
from heedful.export.ctranslate2_reader import CTranslate2Folder
from heedful.text.vocabulary import BOS, PAD

ENGINE = "The engine ctranslate2"
HINT = "Use the native engine."


class SourceRequest(NamedTuple):
    """Request to the library for one source: its tokens, the most tokens of an output, and those it must begin with."""

    source: list[str]
    longest: int
    prefix: list[str]


@final
class CTranslate2Backend(Backend):
    """A folder of CTranslate2 and how to search."""

    damaged_hint = "Export the model again."

    def __init__(
        self, reader: CTranslate2Folder, search: SearchConfig, longest: int, *, scores_tokens: bool = True
    ) -> None:
        """Prepare a backend. `longest` is the number of positions: those of a source with its EOS, or of an output with
        BOS. Without `scores_tokens` outputs come without the log-probabilities of their tokens: a quarter less work.

        Raises ConfigError where the settings ask for what the library does not do, or not as ours, or for a shortlist
        and there is none.
        """
        self.search: BeamSearch = require_beam_search(search, ENGINE)
        if search.no_repeat_ngram:
            raise ConfigError(f"{ENGINE} has no `no_repeat_ngram`.", hint=HINT)
        if search.shortlist and not reader.has_shortlist:
            hint = "Make one: heedful shortlist RUN. An export takes it along when it is made again."
            raise ConfigError("A shortlist is asked for, but this model has none.", hint=hint)
        self.reader, self._longest, self.scores_tokens = reader, longest, scores_tokens

    @property
    def longest(self) -> int:
        return self._longest

    def with_search(self, search: SearchConfig) -> "CTranslate2Backend":
        if search.precision != self.search.precision:
            raise ConfigError(f"{ENGINE} has no `precision`: an export has its own.", hint=HINT)
        return CTranslate2Backend(self.reader, search, self._longest, scores_tokens=self.scores_tokens)

    def without_tokens(self) -> "CTranslate2Backend":
        """Return the same, whose outputs come without the log-probabilities of their tokens."""
        return CTranslate2Backend(self.reader, self.search, self._longest, scores_tokens=False)

    def hypotheses(self, sources: Sequence[Ids], requests: Sequence[Request], n_best: int) -> list[list[Hypothesis]]:
        if n_best > self.search.beam:
            raise ValueError(f"`n_best` must be at most `beam` ({self.search.beam}), but is {n_best}.")
        if any(request.required or request.forbidden is not None for request in requests):
            raise ConfigError(f"{ENGINE} can neither require nor forbid phrases.", hint=HINT)
        if self.search.shortlist and any(request.prefix for request in requests):
            hint = "Leave out the shortlist, or use the native engine."
            raise ConfigError(f"{ENGINE} takes no prefix together with a shortlist.", hint=hint)
        wanted = [self._wanted(source, request) for source, request in zip(sources, requests, strict=True)]
        results = self._results(wanted, n_best)
        again = [n for n, result in enumerate(results) if not self._is_allowed(result, wanted[n])]
        opened = self.reader.open(len(again))
        for number, alone in [(n, self._start_alone(opened, wanted[n])) for n in again]:
            results[number] = alone.result()
        found = [self._hypotheses(result) for result in results]
        inexact = {*again, *(n for n, one in enumerate(wanted) if one.prefix)}  # forced tokens have no log-probability
        chosen = [n for n in range(len(found)) if found[n] and (self.scores_tokens or n in inexact)]
        found = [some if n in inexact else some[:n_best] for n, some in enumerate(found)]
        for n, some in zip(chosen, self._rescored([(wanted[n], found[n]) for n in chosen]), strict=True):
            found[n] = some[:n_best]
        return found

    def log_p(self, pairs: Sequence[Pair]) -> list[list[float]]:
        tokens = self.reader.source_tokens
        return self._score([([tokens[i] for i in source], list(target)) for source, target in pairs])

    def _wanted(self, source: Ids, request: Request) -> SourceRequest:
        tokens = [self.reader.source_tokens[index] for index in source]
        prefix = [self.reader.target_tokens[index] for index in request.prefix]
        return SourceRequest(tokens, request.max_length, prefix)

    def _results(self, wanted: Sequence[SourceRequest], n_best: int) -> list[Any]:
        """Search by the library for each source, in batches."""
        # A shortlist holds for a whole batch, so that smaller batches leave shorter ones: a tenth quicker on Multi30k.
        budget = self.search.max_tokens // self.search.beam // (2 if self.search.shortlist else 1)
        groups = list(batches([len(one.source) for one in wanted], max(1, budget)))
        opened = self.reader.open(len(groups))
        # Without a penalty no open beam can become better than the likeliest continuation that has ended.
        enough = 1 if n_best == 1 and not self.search.length_penalty else self.search.beam
        pending = [(group, self._start_batch(opened, [wanted[n] for n in group], enough)) for group in groups]
        results = {n: r.result() for group, some in pending for n, r in zip(group, some, strict=True)}
        return [results[n] for n in range(len(wanted))]

    def _start_batch(self, opened: Any, wanted: list[SourceRequest], enough: int) -> list[Any]:
        """Search all at once: an output may be as long as the longest may, and its EOS behind it."""
        return self._start(opened, wanted, enough, 1 + max(one.longest for one in wanted), [])

    def _start_alone(self, opened: Any, wanted: SourceRequest) -> Any:
        """Search without PAD and BOS, and stop where EOS is forced: what is unfinished then has all of its tokens."""
        return self._start(opened, [wanted], self.search.beam, wanted.longest, [PAD, BOS])[0]

    def _start(
        self, opened: Any, wanted: list[SourceRequest], enough: int, longest: int, forbidden: Sequence[int]
    ) -> list[Any]:
        """Start searches that go on in the background, for at least `enough` hypotheses each."""
        return opened.translate_batch(
            [one.source for one in wanted],
            [one.prefix or None for one in wanted] if any(one.prefix for one in wanted) else None,
            beam_size=self.search.beam,
            num_hypotheses=enough,
            length_penalty=0,
            max_decoding_length=longest,
            min_decoding_length=0,
            max_input_length=0,
            use_vmap=self.search.shortlist,
            suppress_sequences=[[self.reader.target_tokens[index]] for index in forbidden] or None,
            return_end_token=True,
            return_scores=True,
            asynchronous=True,
        )

    def _is_allowed(self, result: Any, wanted: SourceRequest) -> bool:
        """Return whether our search could have found these: none too long, and none with PAD or BOS."""
        never = {self.reader.target_tokens[PAD], self.reader.target_tokens[BOS]}
        return all(
            len(tokens) <= wanted.longest + 1 and tokens[-1:] == [self.reader.end] and never.isdisjoint(tokens)
            for tokens in result.hypotheses
        )

    def _hypotheses(self, result: Any) -> list[Hypothesis]:
        """Rank the library's outputs by our length penalty, without log-probabilities of tokens."""
        hypotheses = []
        for tokens, log_p in zip(result.hypotheses, result.scores, strict=True):
            text = tokens[:-1] if tokens[-1:] == [self.reader.end] else tokens
            hypotheses.append(self._hypothesis([self.reader.target_ids[token] for token in text], log_p))
        return self._ranked(hypotheses)

    def _rescored(self, some: list[tuple[SourceRequest, list[Hypothesis]]]) -> list[list[Hypothesis]]:
        """Return the same outputs with the log-probability of each token, if these are wanted, and their exact sums."""
        log_p = iter(self._score([(wanted.source, one.ids) for wanted, found in some for one in found]))
        rescored = []
        for _, found in some:
            rows = [(one.ids, next(log_p)) for one in found]
            rescored.append(self._ranked([self._hypothesis(ids, sum(row), row) for ids, row in rows]))
        return rescored

    def _hypothesis(self, ids: list[int], log_p: float, token_log_p: Sequence[float] = ()) -> Hypothesis:
        score = log_p / float(length_penalty(len(ids) + 1, self.search.length_penalty))
        return Hypothesis(ids, log_p, score, list(token_log_p) if self.scores_tokens else [])

    def _ranked(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        return sorted(hypotheses, key=lambda one: -one.score)

    def _score(self, pairs: Sequence[tuple[list[str], list[int]]]) -> list[list[float]]:
        """Compute the log-probability of each token of each target, and of its EOS."""
        groups = list(batches([max(map(len, pair)) for pair in pairs], self.search.max_tokens))
        opened = self.reader.open(len(groups))
        pending = [
            (
                group,
                opened.score_batch(
                    [pairs[n][0] for n in group],
                    [[self.reader.target_tokens[i] for i in pairs[n][1]] for n in group],
                    max_input_length=0,
                    asynchronous=True,
                ),
            )
            for group in groups
        ]
        log_p = {n: r.result().log_probs for group, some in pending for n, r in zip(group, some, strict=True)}
        return [log_p[n] for n in range(len(pairs))]
