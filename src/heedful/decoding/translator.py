"""Translation of lines of text: used by the command line, evaluation and `heedful.load`, for models and exports alike.

Knows no file, no metric, and no model but a `Backend`. Each line has one result, in order, which does not depend on the
other lines.
"""

import math
from collections.abc import Mapping, Sequence
from typing import final

import torch

from heedful.decoding.backend import TRACED_LENGTHS, Backend
from heedful.decoding.config import SearchConfig, with_changes
from heedful.decoding.rules import OutputRules, RequestBuilder
from heedful.decoding.search import Hypothesis, Request
from heedful.decoding.segments import Segment, join_segments, segment_line, tokens_of
from heedful.decoding.translation import Scored, Translation
from heedful.errors import HeedfulError
from heedful.text.tokenizer import Tokenizers
from heedful.trace import Trace, check_trace


@final
class Translator:
    """A backend and its tokenisers.

    Search may compute in another precision than the model's own (`search.precision`); scores and traces of given
    outputs are always in the model's own.
    """

    def __init__(self, backend: Backend, tokenizers: Tokenizers) -> None:
        self.backend, self.tokenizers = backend, tokenizers

    @property
    def search(self) -> SearchConfig:
        """Search settings in use."""
        return self.backend.search

    def with_search(self, changes: Mapping[str, object] | SearchConfig) -> "Translator":
        """Return the same translator with some settings of search changed, or all of them.

        Raises ConfigError for a setting that cannot be.
        """
        search = changes if isinstance(changes, SearchConfig) else with_changes(self.search, changes)
        return Translator(self.backend.with_search(search), self.tokenizers)

    def without_tokens(self) -> "Translator":
        """Return the same translator, which may leave out the log-probabilities of tokens where they cost time."""
        return Translator(self.backend.without_tokens(), self.tokenizers)

    @torch.inference_mode()
    def translate(
        self,
        lines: Sequence[str],
        *,
        n_best: int = 1,
        prefixes: Sequence[str] | None = None,
        rules: Sequence[OutputRules] | None = None,
        first_line: int = 1,
    ) -> list[Translation]:
        """Translate lines of text, each with its `n_best` best candidates (or, when sampling, that many samples).

        `prefixes`, one a line, are texts with which the outputs must begin; `rules`, one a line, say what they must
        hold and must not hold. Errors count lines from `first_line`. Raises ValueError if n_best exceeds the beam.
        """
        check_lines(lines, {"prefixes": prefixes, "rules": rules})
        if n_best < 1:
            raise ValueError(f"`n_best` must be at least 1, but is {n_best}.")
        longest = self.backend.longest_segment
        segments: list[Segment] = []
        of_line: list[list[int]] = []
        for number, line in enumerate(lines):
            parts = segment_line(number, line, self.tokenizers.source, longest)
            of_line.append(list(range(len(segments), len(segments) + len(parts))))
            segments += parts
        requests = self._requests(segments, of_line, prefixes, rules, first_line)
        found = self.backend.hypotheses([segment.ids for segment in segments], requests, n_best)
        for segment, request, some in zip(segments, requests, found, strict=True):
            self._check_found(some, request, f"line {segment.line + first_line}")
        target = self.tokenizers.target
        return [join_segments([segments[n] for n in ns], [found[n] for n in ns], target, longest) for ns in of_line]

    @torch.inference_mode()
    def score(self, sources: Sequence[str], targets: Sequence[str], *, first_pair: int = 1) -> list[Scored]:
        """Compute log-probabilities of given outputs: forced decoding, whatever the model itself would say.

        Errors count pairs from `first_pair`.
        """
        refuse_single_text("sources", sources)
        refuse_single_text("targets", targets)
        if len(sources) != len(targets):
            raise ValueError(f"`targets` must have one entry a source ({len(sources)}), but has {len(targets)}.")
        pairs = self.encode_pairs(sources, targets)
        self.backend.check_pairs(pairs, first_pair)
        found = [
            Scored(sum(values), tokens_of(ids, values, self.tokenizers.target))
            for (_, ids), values in zip(pairs, self.backend.log_p(pairs), strict=True)
        ]
        for number, one in enumerate(found, start=first_pair):
            if math.isnan(one.log_p):
                raise HeedfulError(f"The model gives no probability for pair {number}.", hint=self._damaged_hint)
        return found

    @torch.inference_mode()
    def trace(self, source: str, target: str | None = None) -> Trace:
        """Return all attention weights for one source and a target: the given one, or the output that search finds."""
        for name, text in (("source", source), ("target", "" if target is None else target)):
            refuse_no_text(name, text)
        target_ids = self._best_ids(source) if target is None else self.tokenizers.target.encode(target)
        pair = (self.tokenizers.source.encode(source), target_ids)
        self.backend.check_pairs([pair])
        check_traced(pair, self.search.max_source)
        pieces = ([side.piece(index) for index in ids] for side, ids in zip(self.tokenizers, pair, strict=True))
        output = self.tokenizers.target.decode(target_ids) if target is None else target
        return check_trace(self.backend.trace(pair, *pieces)._replace(source_text=source, output_text=output))

    def encode_pairs(self, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """Encode pairs of texts as ids, without BOS and EOS."""
        encode_source, encode_target = self.tokenizers.source.encode, self.tokenizers.target.encode
        return [(encode_source(source), encode_target(target)) for source, target in zip(sources, targets, strict=True)]

    def _requests(
        self,
        segments: Sequence[Segment],
        of_line: Sequence[Sequence[int]],
        prefixes: Sequence[str] | None,
        rules: Sequence[OutputRules] | None,
        first_line: int,
    ) -> list[Request]:
        """Make a request for each segment; a prefix is for the first segment of a line."""
        request = RequestBuilder(self.tokenizers.target, self.search, self.backend.longest)
        requests = []
        for number, segment in enumerate(segments):
            place, of_one = f"Line {segment.line + first_line}", of_line[segment.line]
            self.backend.check_source(place, segment.ids)
            prefix = prefixes[segment.line] if prefixes and of_one[0] == number else ""
            wanted = rules[segment.line] if rules else OutputRules()
            requests.append(request(place, len(segment.ids), prefix, wanted, len(of_one)))
        return requests

    def _best_ids(self, source: str) -> list[int]:
        segments = segment_line(0, source, self.tokenizers.source, self.backend.longest_segment)[:1]
        requests = self._requests(segments, [range(len(segments))], None, None, 1)
        found = self.backend.hypotheses([segment.ids for segment in segments], requests, 1)
        return found[0][0].ids if found and found[0] else []

    @property
    def _damaged_hint(self) -> str:
        """Hint of the error where a probability is NaN."""
        return f"Its weights are damaged (NaN). {self.backend.damaged_hint}"

    def _check_found(self, hypotheses: list[Hypothesis], request: Request, place: str) -> None:
        if not hypotheses and request.required and request.forbidden is not None:
            message = f"No output was found for {place} that holds all required phrases and no forbidden one."
            raise HeedfulError(message, hint="Raise search.beam or search.max_extra, or take some phrases back.")
        if not hypotheses or math.isnan(hypotheses[0].log_p):
            raise HeedfulError(f"The model gives no output for {place}.", hint=self._damaged_hint)


def refuse_single_text(name: str, lines: Sequence[str]) -> None:
    """Refuse a string. Raises TypeError: it is a sequence of strings too, but nobody means to translate its letters."""
    if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
        raise TypeError(f"`{name}` must be a list of strings, one a line, but is {lines!r:.60}.")


def check_traced(pair: tuple[Sequence[int], Sequence[int]], max_source: int) -> None:
    """Raise HeedfulError for a pair whose attention weights are too many to keep."""
    tokens, most = 1 + max(map(len, pair)), TRACED_LENGTHS * max_source
    if tokens > most:
        hint = "Show a sentence at a time: each layer and head has a weight for each two tokens."
        raise HeedfulError(f"A text has {tokens:,} tokens, but {most:,} can be shown.", hint=hint)


def refuse_no_text(name: str, text: str) -> None:
    """Refuse anything but a string. Raises TypeError."""
    if not isinstance(text, str):
        raise TypeError(f"`{name}` must be one string, but is {text!r:.60}.")


def check_lines(lines: Sequence[str], beside: Mapping[str, Sequence[object] | None]) -> None:
    """Check lines and the lists that go with them. Raises TypeError for a single text in place of lines, and ValueError
    unless each list has one item a line.
    """
    refuse_single_text("lines", lines)
    for name, given in beside.items():
        if isinstance(given, str):
            raise TypeError(f"`{name}` must be a list with one entry a line, but is {given!r:.60}.")
        if given is not None and len(given) != len(lines):
            raise ValueError(f"`{name}` must have one entry a line ({len(lines)}), but has {len(given)}.")
