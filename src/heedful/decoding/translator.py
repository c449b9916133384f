"""From text to text: the one way in which the command line, evaluation and `heedful.load` use a model.

Knows no file and no metric. One line in, one result out, in order; a line's result does not depend on the others.
"""

import math
from collections.abc import Mapping, Sequence
from typing import final

import torch

from heedful.attention import Map, Trace
from heedful.attention.trace import check_trace
from heedful.config import Layer, resolve
from heedful.data.batch import collate
from heedful.decoding.beam import beam_search
from heedful.decoding.config import SearchConfig
from heedful.decoding.greedy import greedy_search
from heedful.decoding.sampling import sample
from heedful.decoding.search import Hypothesis, Request, Step
from heedful.decoding.segments import END, Segment, batches, join_segments, segment_line, tokens_of
from heedful.decoding.translation import Scored, Translation
from heedful.errors import HeedfulError
from heedful.models.device import device_of
from heedful.models.interface import Memory, Seq2Seq, State
from heedful.seeds import seed_of
from heedful.text.tokenizer import Tokenizers

BEGIN = "<s>"


@final
class Translator:
    """A model, its tokenisers and how to search."""

    def __init__(self, model: Seq2Seq, tokenizers: Tokenizers, search: SearchConfig) -> None:
        self.model = model
        self.tokenizers = tokenizers
        self.search = search

    def with_search(self, changes: Mapping[str, object]) -> "Translator":
        """The same model, searched with some settings changed. Raises ConfigError for a setting that cannot be."""
        layers = [Layer("model", self.search.model_dump()), Layer("search", dict(changes))]
        return Translator(self.model, self.tokenizers, resolve(SearchConfig, layers).config)

    @torch.inference_mode()
    def translate(
        self, lines: Sequence[str], *, n_best: int = 1, prefixes: Sequence[str] | None = None
    ) -> list[Translation]:
        """Outputs for lines of text, each with its `n_best` best candidates (or, when sampling, that many samples).

        `prefixes`, one a line, are texts with which the outputs must begin. Raises ValueError if n_best exceeds the
        beam.
        """
        refuse_single_text("lines", lines)
        if prefixes is not None and len(prefixes) != len(lines):
            raise ValueError(f"`prefixes` must have one entry a line ({len(lines)}), but has {len(prefixes)}.")
        self.model.eval()
        segments = [
            segment
            for number, line in enumerate(lines)
            for segment in segment_line(number, line, self.tokenizers.source, self._longest_source)
        ]
        of_line: list[list[int]] = [[] for _ in lines]
        for number, segment in enumerate(segments):
            of_line[segment.line].append(number)
        forced = [
            self.tokenizers.target.encode(prefixes[s.line]) if prefixes and of_line[s.line][0] == n else []
            for n, s in enumerate(segments)
        ]
        self._check_prefixes(segments, forced)
        found: list[list[Hypothesis]] = [[] for _ in segments]
        beams = n_best if self.search.temperature is not None else self.search.beam
        for batch in batches(segments, max(1, self.search.max_tokens // beams)):
            hypotheses = self._search([segments[n] for n in batch], [forced[n] for n in batch], n_best)
            for number, some in zip(batch, hypotheses, strict=True):
                if not some or math.isnan(some[0].log_p):
                    hint = "Its weights are damaged (NaN): copy the bundle again, or use another checkpoint."
                    raise HeedfulError(f"The model gives no output for line {segments[number].line + 1}.", hint=hint)
                found[number] = some
        target, longest = self.tokenizers.target, self._longest_source
        return [join_segments([segments[n] for n in ns], [found[n] for n in ns], target, longest) for ns in of_line]

    @torch.inference_mode()
    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """Log-probabilities of given outputs: forced decoding, whatever the model itself would say."""
        refuse_single_text("sources", sources)
        if len(sources) != len(targets):
            raise ValueError(f"`targets` must have one entry a source ({len(sources)}), but has {len(targets)}.")
        self.model.eval()
        pairs = [
            (self.tokenizers.source.encode(source), self.tokenizers.target.encode(target))
            for source, target in zip(sources, targets, strict=True)
        ]
        self._check_lengths(pairs)
        wider = [Segment(number, max(pair, key=len)) for number, pair in enumerate(pairs)]
        scored: list[Scored | None] = [None] * len(pairs)
        for numbers in batches(wider, self.search.max_tokens):
            batch = collate([pairs[n] for n in numbers], numbers).to(self._device)
            log_p = self.model.logits(self.model(batch.src, batch.src_mask, batch.tgt_in)).float().log_softmax(dim=-1)
            rows = log_p.gather(2, batch.tgt_out[:, :, None])[:, :, 0].tolist()
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
        self._check_lengths([(source_ids, target_ids)])
        batch = collate([(source_ids, target_ids)], [0]).to(self._device)
        maps: list[Map] = []
        hidden = self.model.decode(self.model.encode(batch.src, batch.src_mask, maps), batch.tgt_in, maps)
        log_p = self.model.logits(hidden).float().log_softmax(dim=-1).gather(2, batch.tgt_out[:, :, None])[0, :, 0]
        pieces = [self.tokenizers.target.piece(i) for i in target_ids]
        source_pieces = [self.tokenizers.source.piece(i) for i in source_ids]
        return check_trace(Trace([*source_pieces, END], [BEGIN, *pieces], [*pieces, END], log_p.tolist(), maps))

    def _best_ids(self, source: str) -> list[int]:
        segments = segment_line(0, source, self.tokenizers.source, self._longest_source)
        return self._search(segments[:1], [[]], 1)[0][0].ids if segments else []

    @property
    def _longest_source(self) -> int:
        """The most tokens of a segment: what the settings say, or what the model can read."""
        readable = self.model.longest
        return self.search.max_source if readable is None else min(self.search.max_source, readable - 1)

    def _longest_output(self, n_source: int, n_prefix: int) -> int:
        """The most tokens of an output: max_extra more than the source, within what the model can read."""
        readable, wanted = self.model.longest, n_source + self.search.max_extra
        return max(n_prefix, wanted if readable is None else min(wanted, readable - 1))

    def _check_prefixes(self, segments: list[Segment], forced: list[list[int]]) -> None:
        for segment, prefix in zip(segments, forced, strict=True):
            longest = len(segment.ids) + self.search.max_extra
            if len(prefix) > longest:
                hint = "Shorten it, or raise search.max_extra."
                raise HeedfulError(
                    f"Line {segment.line + 1}: the prefix has {len(prefix)} tokens, but an output at most {longest}.",
                    hint=hint,
                )

    def _check_lengths(self, pairs: Sequence[tuple[list[int], list[int]]]) -> None:
        longest = self.model.longest
        for number, pair in enumerate(pairs, start=1):
            tokens = 1 + max(map(len, pair))
            if longest is not None and tokens > longest:
                hint = "Shorten it, or train with a larger model.max_positions."
                raise HeedfulError(f"Pair {number} has {tokens} tokens, but this model reads {longest}.", hint=hint)

    def _search(self, segments: list[Segment], forced: list[list[int]], n_best: int) -> list[list[Hypothesis]]:
        batch = collate([(segment.ids, []) for segment in segments], range(len(segments))).to(self._device)
        memory = self.model.encode(batch.src, batch.src_mask)
        requests = [
            Request(self._longest_output(len(s.ids), len(prefix)), prefix)
            for s, prefix in zip(segments, forced, strict=True)
        ]
        if self.search.temperature is not None:
            return self._sample(segments, memory, requests, n_best)
        alpha = self.search.length_penalty
        if self.search.beam == 1 and n_best == 1:
            return greedy_search(self._step, self.model.start(memory, 1), requests, alpha)
        state = self.model.start(memory, self.search.beam)
        return beam_search(self._step, state, requests, beam=self.search.beam, alpha=alpha, n_best=n_best)

    def _sample(
        self, segments: list[Segment], memory: Memory, requests: list[Request], n: int
    ) -> list[list[Hypothesis]]:
        """n samples a segment; each leaves the batch when it ends, so each has a row of its own in the state."""
        search = self.search
        assert search.temperature is not None
        rows = Memory(memory.values.repeat_interleave(n, dim=0), memory.mask.repeat_interleave(n, dim=0))
        numbered = [(segment, number) for segment in segments for number in range(n)]
        seeds = [seed_of(search.seed, repr(segment.ids), number) for segment, number in numbered]
        wide = [request for request in requests for _ in range(n)]
        cuts = {"temperature": search.temperature, "top_k": search.top_k, "top_p": search.top_p}
        samples = sample(self._step, self.model.start(rows, 1), wide, seeds, **cuts)
        return [samples[start : start + n] for start in range(0, len(samples), n)]

    @property
    def _device(self) -> torch.device:
        return device_of(self.model)

    @property
    def _step(self) -> Step:
        def step(state: State, tokens: torch.Tensor) -> tuple[torch.Tensor, State]:
            hidden, after = self.model.step(state, tokens)
            return self.model.logits(hidden), after

        return step


def refuse_single_text(name: str, lines: Sequence[str]) -> None:
    """Raises TypeError for a string: it is a sequence of strings too, but nobody means to translate its letters."""
    if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
        raise TypeError(f"`{name}` must be a list of strings, one a line, but is {lines!r:.60}.")
