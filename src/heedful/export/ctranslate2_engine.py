"""Translating with CTranslate2 as the native translator does: the same lines in, the same kind of results out.

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

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

from heedful.config import Layer, resolve
from heedful.decoding.config import SearchConfig
from heedful.decoding.rules import Requesting, Rules
from heedful.decoding.search import Hypothesis, length_penalty
from heedful.decoding.segments import Segment, batches, join_segments, segment_line, tokens_of
from heedful.decoding.translation import Scored, Translation
from heedful.decoding.translator import check_lines, refuse_single_text
from heedful.errors import ConfigError, HeedfulError
from heedful.export.ctranslate2_reader import Reader
from heedful.text.tokenizer import Tokenizers
from heedful.text.vocabulary import BOS, PAD

CAN_CHANGE = ("beam", "length_penalty", "max_extra", "max_tokens", "max_source", "shortlist")
OTHER_WAYS = ("temperature", "mbr_samples", "no_repeat_ngram")  # each is off unless set
HINT = "Use the native engine."


class Wanted(NamedTuple):
    """What a segment asks of the library: its tokens, the most tokens of an output, and those it must begin with."""

    place: str  # what errors call its line
    source: list[str]
    longest: int
    prefix: list[str]


@final
class CTranslate2Translator:
    """A folder of CTranslate2, the tokenisers and how to search."""

    def __init__(self, reader: Reader, tokenizers: Tokenizers, search: SearchConfig, longest: int) -> None:
        """`longest` is the number of positions: those of a source with its EOS, or of an output with BOS.

        Raises ConfigError where the settings ask for what the library does not do, or not as ours, or for a shortlist
        and there is none.
        """
        for key in OTHER_WAYS:
            if getattr(search, key):
                raise ConfigError(f"The engine ctranslate2 has no `{key}`.", hint=HINT)
        if search.shortlist and not reader.has_shortlist:
            hint = "Make one: heedful shortlist RUN. An export takes it along when it is made again."
            raise ConfigError("A shortlist is asked for, but this model has none.", hint=hint)
        self.reader, self.tokenizers, self.search, self.longest = reader, tokenizers, search, longest
        self.scores_tokens = True

    def with_search(self, changes: Mapping[str, object]) -> "CTranslate2Translator":
        """The same model, searched with some settings changed. Raises ConfigError for a setting that cannot be."""
        layers = [Layer("model", self.search.model_dump()), Layer("search", dict(changes))]
        search: SearchConfig = resolve(SearchConfig, layers).config
        for key in SearchConfig.model_fields:
            if key not in CAN_CHANGE and getattr(search, key) != getattr(self.search, key):
                raise ConfigError(f"The engine ctranslate2 has no `{key}`.", hint=HINT)
        changed = CTranslate2Translator(self.reader, self.tokenizers, search, self.longest)
        changed.scores_tokens = self.scores_tokens
        return changed

    def without_tokens(self) -> "CTranslate2Translator":
        """The same model, whose outputs come without their tokens: a quarter less work."""
        copy = self.with_search({})
        copy.scores_tokens = False
        return copy

    def translate(
        self,
        lines: Sequence[str],
        *,
        n_best: int = 1,
        prefixes: Sequence[str] | None = None,
        rules: Sequence[Rules] | None = None,
        first_line: int = 1,
    ) -> list[Translation]:
        """Outputs for lines of text, each with its `n_best` best candidates.

        `prefixes`, one a line, are texts with which the outputs must begin. Errors count lines from `first_line`.
        Raises ValueError if n_best exceeds the beam, and ConfigError for any rule.
        """
        check_lines(lines, {"prefixes": prefixes, "rules": rules})
        if n_best > self.search.beam:
            raise ValueError(f"`n_best` must be at most `beam` ({self.search.beam}), but is {n_best}.")
        if any(rule.require or rule.forbid for rule in rules or ()):
            raise ConfigError("The engine ctranslate2 can neither require nor forbid phrases.", hint=HINT)
        if self.search.shortlist and any(prefixes or ()):
            hint = "Leave out the shortlist, or use the native engine."
            raise ConfigError("The engine ctranslate2 takes no prefix together with a shortlist.", hint=hint)
        split_at = min(self.search.max_source, self.longest - 1)
        source = self.tokenizers.source
        segments = [part for n, line in enumerate(lines) for part in segment_line(n, line, source, split_at)]
        of_line: list[list[int]] = [[] for _ in lines]
        for number, segment in enumerate(segments):
            of_line[segment.line].append(number)
        request = Requesting(self.tokenizers.target, self.search, self.longest)
        wanted = []
        for number, part in enumerate(segments):
            prefix = prefixes[part.line] if prefixes and of_line[part.line][0] == number else ""
            place = f"Line {part.line + first_line}"
            asked = request(place, len(part.ids), prefix, Rules(), len(of_line[part.line]))
            tokens = [self.reader.source_tokens[i] for i in part.ids]
            forced = [self.reader.target_tokens[i] for i in asked.prefix]
            wanted.append(Wanted(place, tokens, asked.max_length, forced))
        found = self._search(segments, wanted, n_best)
        target = self.tokenizers.target
        return [join_segments([segments[n] for n in ns], [found[n] for n in ns], target, split_at) for ns in of_line]

    def score(self, sources: Sequence[str], targets: Sequence[str], *, first_pair: int = 1) -> list[Scored]:
        """Log-probabilities of given outputs: forced decoding, whatever the model itself would say."""
        refuse_single_text("sources", sources)
        if len(sources) != len(targets):
            raise ValueError(f"`targets` must have one entry a source ({len(sources)}), but has {len(targets)}.")
        pairs = [
            (self.tokenizers.source.encode(source), self.tokenizers.target.encode(target))
            for source, target in zip(sources, targets, strict=True)
        ]
        for number, pair in enumerate(pairs, start=first_pair):
            tokens = 1 + max(map(len, pair))
            if tokens > self.longest:
                what = f"Pair {number} has {tokens} tokens, but this export has {self.longest} positions."
                raise HeedfulError(what, hint="Shorten it.")
        log_p = self._score([([self.reader.source_tokens[i] for i in source], target) for source, target in pairs])
        scored = zip(pairs, log_p, strict=True)
        return [Scored(sum(values), tokens_of(ids, values, self.tokenizers.target)) for (_, ids), values in scored]

    def _search(self, segments: list[Segment], wanted: list[Wanted], n_best: int) -> list[list[Hypothesis]]:
        """The `n_best` best hypotheses of each segment, best first."""
        # A shortlist holds for a whole batch, so that smaller batches leave shorter ones: a tenth quicker on Multi30k.
        budget = self.search.max_tokens // self.search.beam // (2 if self.search.shortlist else 1)
        groups = list(batches(segments, max(1, budget)))
        opened = self.reader.open(len(groups))
        # Without a penalty no open beam can become better than the likeliest continuation that has ended.
        enough = 1 if n_best == 1 and not self.search.length_penalty else self.search.beam
        pending = [(group, self._start_batch(opened, [wanted[n] for n in group], enough)) for group in groups]
        results: dict[int, Any] = {n: r.result() for group, some in pending for n, r in zip(group, some, strict=True)}
        again = [n for n, result in results.items() if not self._is_allowed(result, wanted[n])]
        alone = [self._start_alone(opened, wanted[n]) for n in again]
        results.update({n: some.result() for n, some in zip(again, alone, strict=True)})
        found = [self._hypotheses(results[n]) for n in range(len(segments))]
        for one, some in zip(wanted, found, strict=True):
            if not some or math.isnan(some[0].log_p):
                hint = "Its weights are damaged (NaN): export the model again."
                raise HeedfulError(f"The model gives no output for {one.place.lower()}.", hint=hint)
        inexact = {*again, *(n for n, one in enumerate(wanted) if one.prefix)}  # forced tokens have no log-probability
        found = [some if n in inexact else some[:n_best] for n, some in enumerate(found)]
        chosen = [n for n in range(len(found)) if self.scores_tokens or n in inexact]
        for n, some in zip(chosen, self._rescored([(wanted[n], found[n]) for n in chosen]), strict=True):
            found[n] = some[:n_best]
        return found

    def _start_batch(self, opened: Any, wanted: list[Wanted], enough: int) -> list[Any]:
        """One search for all, in which an output may be as long as the longest may, and its EOS behind it."""
        return self._start(opened, wanted, enough, 1 + max(one.longest for one in wanted), [])

    def _start_alone(self, opened: Any, wanted: Wanted) -> Any:
        """A search without PAD and BOS that stops where EOS is forced: what is open then has all of its tokens."""
        return self._start(opened, [wanted], self.search.beam, wanted.longest, [PAD, BOS])[0]

    def _start(
        self, opened: Any, wanted: list[Wanted], enough: int, longest: int, forbidden: Sequence[int]
    ) -> list[Any]:
        """Results that are still being computed: at least `enough` hypotheses each."""
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

    def _is_allowed(self, result: Any, wanted: Wanted) -> bool:
        """Whether our search could have found these: none too long, and none with PAD or BOS."""
        never = {self.reader.target_tokens[PAD], self.reader.target_tokens[BOS]}
        return all(
            len(tokens) <= wanted.longest + 1 and tokens[-1:] == [self.reader.end] and never.isdisjoint(tokens)
            for tokens in result.hypotheses
        )

    def _hypotheses(self, result: Any) -> list[Hypothesis]:
        """What the library found, ranked by our length penalty, without log-probabilities of tokens."""
        hypotheses = []
        for tokens, log_p in zip(result.hypotheses, result.scores, strict=True):
            text = tokens[:-1] if tokens[-1:] == [self.reader.end] else tokens
            hypotheses.append(self._hypothesis([self.reader.target_ids[token] for token in text], log_p))
        return self._ranked(hypotheses)

    def _rescored(self, some: list[tuple[Wanted, list[Hypothesis]]]) -> list[list[Hypothesis]]:
        """The same outputs with the log-probability of each token, if these are wanted, and their exact sums."""
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
        """The log-probability of each token of each target, and of its EOS."""
        wider = [Segment(n, max([0] * len(source), target, key=len)) for n, (source, target) in enumerate(pairs)]
        groups = list(batches(wider, self.search.max_tokens))
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
