"""From text to text: the one way in which the command line, evaluation and `heedful.load` use a model.

Knows no file and no metric. One line in, one result out, in order; a line's result does not depend on the others.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import final

import torch

from heedful.attention import Map, Trace
from heedful.config import Layer, resolve
from heedful.data.batch import Batch, collate
from heedful.decoding.answering import PARTS_HINT, Asker, check_given, given_log_p
from heedful.decoding.config import SearchConfig
from heedful.decoding.rules import Requesting, Rules
from heedful.decoding.search import Hypothesis, Request
from heedful.decoding.searcher import Searcher
from heedful.decoding.segments import END, Segment, batches, join_segments, segment_line, tokens_of
from heedful.decoding.shortlist import Shortlist
from heedful.decoding.translation import Scored, Translation
from heedful.errors import ConfigError, HeedfulError
from heedful.models.device import device_of
from heedful.models.inference import Prepared
from heedful.models.interface import EncoderOnly, Model, Seq2Seq
from heedful.text.tokenizer import Tokenizers
from heedful.trace import check_trace

BEGIN = "<s>"


@final
class Translator:
    """A model, its tokenisers and how to search.

    Search uses the model as it is prepared for inference in the precision `search.precision`; scores and traces of
    given outputs use the model itself.
    """

    def __init__(
        self, model: Model, tokenizers: Tokenizers, search: SearchConfig, shortlist: Shortlist | None = None
    ) -> None:
        """`shortlist` is what the bundle has; it is used where the settings ask for one."""
        self.model = model
        self.tokenizers = tokenizers
        self.search = search
        self.shortlist = shortlist
        self._prepared = Prepared(model, search.precision)

    def with_search(self, changes: Mapping[str, object]) -> "Translator":
        """The same model, searched with some settings changed. Raises ConfigError for a setting that cannot be."""
        layers = [Layer("model", self.search.model_dump()), Layer("search", dict(changes))]
        return Translator(self.model, self.tokenizers, resolve(SearchConfig, layers).config, self.shortlist)

    @torch.inference_mode()
    def translate(
        self,
        lines: Sequence[str],
        *,
        n_best: int = 1,
        prefixes: Sequence[str] | None = None,
        rules: Sequence[Rules] | None = None,
        first_line: int = 1,
    ) -> list[Translation]:
        """Outputs for lines of text, each with its `n_best` best candidates (or, when sampling, that many samples).

        `prefixes`, one a line, are texts with which the outputs must begin; `rules`, one a line, say what they must
        hold and must not hold. Errors count lines from `first_line`. Raises ValueError if n_best exceeds the beam.
        """
        check_lines(lines, {"prefixes": prefixes, "rules": rules})
        search = self._searcher()
        segments = [
            segment
            for number, line in enumerate(lines)
            for segment in segment_line(number, line, self.tokenizers.source, self._longest_source)
        ]
        if isinstance(self.model, EncoderOnly):
            _check_sources(self.model, segments, first_line)
        of_line: list[list[int]] = [[] for _ in lines]
        for number, segment in enumerate(segments):
            of_line[segment.line].append(number)
        request = Requesting(self.tokenizers.target, self.search, self.model.longest)
        requests = [
            request(
                f"Line {segment.line + first_line}",
                len(segment.ids),
                prefixes[segment.line] if prefixes and of_line[segment.line][0] == number else "",
                rules[segment.line] if rules else Rules(),
                len(of_line[segment.line]),
            )
            for number, segment in enumerate(segments)
        ]
        found: list[list[Hypothesis]] = [[] for _ in segments]
        for batch in batches(segments, max(1, self.search.max_tokens // search.rows(n_best))):
            hypotheses = search([segments[n].ids for n in batch], [requests[n] for n in batch], n_best)
            for number, some in zip(batch, hypotheses, strict=True):
                _check_found(some, requests[number], f"line {segments[number].line + first_line}")
                found[number] = some
        target, longest = self.tokenizers.target, self._longest_source
        return [join_segments([segments[n] for n in ns], [found[n] for n in ns], target, longest) for ns in of_line]

    @torch.inference_mode()
    def score(self, sources: Sequence[str], targets: Sequence[str], *, first_pair: int = 1) -> list[Scored]:
        """Log-probabilities of given outputs: forced decoding, whatever the model itself would say.

        Always in the model's own precision, whatever that of the search is. Errors count pairs from `first_pair`.
        """
        refuse_single_text("sources", sources)
        if len(sources) != len(targets):
            raise ValueError(f"`targets` must have one entry a source ({len(sources)}), but has {len(targets)}.")
        self.model.eval()
        pairs = [
            (self.tokenizers.source.encode(source), self.tokenizers.target.encode(target))
            for source, target in zip(sources, targets, strict=True)
        ]
        self.check_pairs(pairs, first_pair)
        wider = [Segment(number, max(pair, key=len)) for number, pair in enumerate(pairs)]
        scored: list[Scored | None] = [None] * len(pairs)
        for numbers in batches(wider, self.search.max_tokens):
            rows = self._log_p(collate([pairs[n] for n in numbers], numbers).to(self._device))
            for number, row in zip(numbers, rows, strict=True):
                values = row[: len(pairs[number][1]) + 1]
                scored[number] = Scored(sum(values), tokens_of(pairs[number][1], values, self.tokenizers.target))
        return [some for some in scored if some is not None]

    @torch.inference_mode()
    def trace(self, source: str, target: str | None = None) -> Trace:
        """All attention weights for one source and a target: the given one, or the output that search finds."""
        self.model.eval()
        target_ids = self._best_ids(source) if target is None else self.tokenizers.target.encode(target)
        source_ids = self.tokenizers.source.encode(source)
        self.check_pairs([(source_ids, target_ids)])
        batch = collate([(source_ids, target_ids)], [0]).to(self._device)
        maps: list[Map] = []
        (log_p,) = self._log_p(batch, maps)
        pieces = [self.tokenizers.target.piece(i) for i in target_ids]
        read = [*(self.tokenizers.source.piece(i) for i in source_ids), END]
        if isinstance(self.model, EncoderOnly):
            return check_trace(Trace(read, pieces, pieces, log_p[: len(pieces)], maps))
        return check_trace(Trace(read, [BEGIN, *pieces], [*pieces, END], log_p, maps))

    def _log_p(self, batch: Batch, maps: list[Map] | None = None) -> list[list[float]]:
        """The log-probabilities of the targets' tokens, EOS included; behind the end of a shorter one anything."""
        if isinstance(self.model, EncoderOnly):
            answer = self.model.predict(batch.src, batch.src_mask, maps)
            return given_log_p(self.model, answer, batch.tgt_out)
        assert isinstance(self.model, Seq2Seq)
        hidden = self.model.decode(self.model.encode(batch.src, batch.src_mask, maps), batch.tgt_in, maps)
        log_p = self.model.logits(hidden).float().log_softmax(dim=-1)
        return log_p.gather(2, batch.tgt_out[:, :, None])[:, :, 0].tolist()

    def check_pairs(self, pairs: Sequence[tuple[list[int], list[int]]], first: int = 1) -> None:
        """Raises HeedfulError for the first pair of ids, counted from `first`, that the model cannot read."""
        longest = self.model.longest
        for number, pair in enumerate(pairs, start=first):
            tokens = 1 + max(map(len, pair))
            if longest is not None and tokens > longest:
                hint = "Shorten it, or train with a larger model.max_positions."
                raise HeedfulError(f"Pair {number} has {tokens} tokens, but this model reads {longest}.", hint=hint)
        if isinstance(self.model, EncoderOnly):
            check_given(self.model, pairs, first)

    def _best_ids(self, source: str) -> list[int]:
        segments = segment_line(0, source, self.tokenizers.source, self._longest_source)[:1]
        request = Requesting(self.tokenizers.target, self.search, self.model.longest)
        requests = [request("The source", len(segment.ids), "", Rules(), 1) for segment in segments]
        found = self._searcher()([segment.ids for segment in segments], requests, 1) if segments else []
        return found[0][0].ids if found else []

    def _searcher(self) -> Searcher | Asker:
        ready = self._prepared.ready()
        if isinstance(ready, EncoderOnly):
            return Asker(ready, self.search)
        assert isinstance(ready, Seq2Seq)
        if self.search.shortlist and self.shortlist is None:
            assert isinstance(self.model, Seq2Seq)
            self.model.logits_among(torch.zeros(0, dtype=torch.long))  # a model that cannot be narrowed says so itself
            hint = "Make one: heedful shortlist RUN."
            raise ConfigError("A shortlist is asked for, but this model has none.", hint=hint)
        shortlist = self.shortlist if self.search.shortlist else None
        return Searcher(ready, self.search, self.tokenizers.target.decode, shortlist)

    @property
    def _longest_source(self) -> int:
        """The most tokens of a segment: what the settings say, or what the model can read.

        A model that answers at once answers a whole source: it is never cut.
        """
        readable = self.model.longest
        if isinstance(self.model, EncoderOnly):
            return sys.maxsize if readable is None else readable - 1
        return self.search.max_source if readable is None else min(self.search.max_source, readable - 1)

    @property
    def _device(self) -> torch.device:
        return device_of(self.model)


def _check_sources(model: EncoderOnly, segments: Sequence[Segment], first_line: int) -> None:
    """Raises HeedfulError, before any work, for the first line that the model cannot answer."""
    for segment in segments:
        validation_error = model.validation_error(segment.ids)
        if validation_error is not None:
            raise HeedfulError(f"Line {segment.line + first_line}: {validation_error}.", hint=PARTS_HINT)


def _check_found(hypotheses: list[Hypothesis], request: Request, place: str) -> None:
    if not hypotheses and request.required and request.forbidden is not None:
        message = f"No output was found for {place} that holds all required phrases and no forbidden one."
        raise HeedfulError(message, hint="Raise search.beam or search.max_extra, or take some phrases back.")
    if not hypotheses or math.isnan(hypotheses[0].log_p):
        hint = "Its weights are damaged (NaN): copy the bundle again, or use another checkpoint."
        raise HeedfulError(f"The model gives no output for {place}.", hint=hint)


def refuse_single_text(name: str, lines: Sequence[str]) -> None:
    """Raises TypeError for a string: it is a sequence of strings too, but nobody means to translate its letters."""
    if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
        raise TypeError(f"`{name}` must be a list of strings, one a line, but is {lines!r:.60}.")


def check_lines(lines: Sequence[str], beside: Mapping[str, Sequence[object] | None]) -> None:
    """Raises TypeError for a single text in place of lines, and ValueError unless each thing beside has one a line."""
    refuse_single_text("lines", lines)
    for name, given in beside.items():
        if given is not None and len(given) != len(lines):
            raise ValueError(f"`{name}` must have one entry a line ({len(lines)}), but has {len(given)}.")
