"""Search through a model with a decoder: from requests to hypotheses, and log-probabilities by teacher forcing.

Knows ids, no text but through `text_of`, and no lines.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, final

import torch
from torch import Tensor

from heedful.data.batch import Batch, collate
from heedful.decoding.backend import END, Backend, Ids, Pair
from heedful.decoding.beam import beam_search
from heedful.decoding.config import BeamSearch, MBRSearch, SampleSearch, SearchConfig
from heedful.decoding.greedy import greedy_search
from heedful.decoding.sampling import sample
from heedful.decoding.search import Hypothesis, Request, Step
from heedful.decoding.segments import in_batches
from heedful.decoding.shortlist import Shortlist, ShortlistVocabulary
from heedful.errors import ConfigError
from heedful.models.device import device_of
from heedful.models.inference import PreparedCopies, SearchableModel, searchable
from heedful.models.interface import Memory, Seq2Seq, State
from heedful.models.recording import recorded_maps
from heedful.seeds import seed_of
from heedful.text.vocabulary import PAD
from heedful.trace import Trace

BEGIN = "<s>"


@final
class SequenceBackend(Backend):
    """A model with a decoder and how it is searched.

    Search uses a copy of the model that is prepared for inference in `search.precision`; log-probabilities and traces
    of given outputs use the model itself.
    """

    def __init__(
        self,
        model: Seq2Seq,
        search: SearchConfig,
        text_of: Callable[[list[int]], str],
        shortlist: Shortlist | None = None,
        prepared: PreparedCopies[Seq2Seq, SearchableModel] | None = None,
    ) -> None:
        """Prepare a backend. `text_of` gives the text of ids, which MBR compares. `shortlist` is that of the bundle,
        used where the settings turn it on. `prepared` holds the copies for inference, where there are some already.
        """
        self.model, self.search, self.text_of, self.shortlist = model, search, text_of, shortlist
        self.prepared = PreparedCopies(model, searchable) if prepared is None else prepared

    @property
    def longest(self) -> int | None:
        return self.model.longest

    @property
    def device(self) -> torch.device:
        return device_of(self.model)

    def with_search(self, search: SearchConfig) -> "SequenceBackend":
        return SequenceBackend(self.model, search, self.text_of, self.shortlist, self.prepared)

    def decoder(self, what: str) -> Seq2Seq:
        return self.model

    def rows(self, n_best: int) -> int:
        """Count the rows that each sentence takes."""
        match self.search:
            case MBRSearch():
                return max(self.search.samples, 0 if self.search.candidates == "samples" else self.search.beam)
            case BeamSearch():
                return self.search.beam
            case _:
                return n_best

    def hypotheses(self, sources: Sequence[Ids], requests: Sequence[Request], n_best: int) -> list[list[Hypothesis]]:
        ready, shortlist = self.prepared.ready(self.search.precision), self._shortlist()

        def found(numbers: list[int]) -> list[list[Hypothesis]]:
            return self._batch(ready, shortlist, [sources[n] for n in numbers], [requests[n] for n in numbers], n_best)

        budget = max(1, self.search.max_tokens // self.rows(n_best))
        return in_batches([len(ids) for ids in sources], budget, found)

    def log_p(self, pairs: Sequence[Pair]) -> list[list[float]]:
        self.model.eval()

        def scored(numbers: list[int]) -> list[list[float]]:
            rows = self._teacher_forced(collate([pairs[n] for n in numbers], numbers).to(self.device))
            return [row[: len(pairs[n][1]) + 1] for n, row in zip(numbers, rows, strict=True)]

        return in_batches([max(map(len, pair)) for pair in pairs], self.search.max_tokens, scored)

    def trace(self, pair: Pair, source: Sequence[str], target: Sequence[str]) -> Trace:
        self.model.eval()
        with recorded_maps(self.model) as maps:
            (log_p,) = self._teacher_forced(collate([pair], [0]).to(self.device))
        return Trace([*source, END], [BEGIN, *target], [*target, END], log_p, maps)

    def _teacher_forced(self, batch: Batch) -> list[list[float]]:
        """Compute the log-probability of each token of the targets, EOS included, given the reference tokens before it.
        Values at padding have no meaning.
        """
        hidden = self.model.decode(self.model.encode(batch.src, batch.src_mask), batch.tgt_in)
        log_p = self.model.logits(hidden).float().log_softmax(dim=-1)
        return log_p.gather(2, batch.tgt_out[:, :, None])[:, :, 0].tolist()

    def _shortlist(self) -> Shortlist | None:
        if not self.search.shortlist:
            return None
        if self.shortlist is None:
            # A model whose output layer cannot be narrowed says so itself.
            self.prepared.ready(self.search.precision).readout.among(torch.tensor([PAD]))
            hint = "Make one: heedful shortlist RUN."
            raise ConfigError("A shortlist is asked for, but this model has none.", hint=hint)
        return self.shortlist

    def _batch(
        self,
        ready: SearchableModel,
        shortlist: Shortlist | None,
        sources: Sequence[Ids],
        requests: Sequence[Request],
        n_best: int,
    ) -> list[list[Hypothesis]]:
        """Search the `n_best` best hypotheses of each source of a batch, best first."""
        model = ready.model
        batch = collate([(list(source), []) for source in sources], range(len(sources))).to(device_of(model))
        memory = model.encode(batch.src, batch.src_mask)
        if shortlist is None:
            search = _Encoded(ready, memory, list(sources), list(requests), None)
            return self._found(search, n_best)
        narrow = shortlist.narrow(sources, requests)
        search = _Encoded(ready, memory, list(sources), narrow.renumbered(requests), narrow)
        return [narrow.restored(hypotheses) for hypotheses in self._found(search, n_best)]

    def _found(self, encoded: "_Encoded", n_best: int) -> list[list[Hypothesis]]:
        match self.search:
            case MBRSearch():
                return self._agreed(encoded, self.search, n_best)
            case SampleSearch():
                return _sampled(encoded, self.search, n_best)
            case BeamSearch():
                return _searched(encoded, self.search, n_best)
            case _:
                raise TypeError(f"`search` must be of a known method, but is of {self.search.method!r}.")

    def _agreed(self, encoded: "_Encoded", search: MBRSearch, n_best: int) -> list[list[Hypothesis]]:
        """Choose by minimum Bayes risk: the candidates that agree most with samples of the model; candidates are the
        samples, the beam's best, or both.
        """
        from heedful.decoding.mbr import best_expected, utility_of  # sacrebleu is slow to import

        utility, wanted = utility_of(search.utility), search.candidates
        samples = _sampled(encoded, search, search.samples)
        beams = _searched(encoded, search.beam_search, search.beam) if wanted != "samples" else [[] for _ in samples]
        chosen = []
        for drawn, best in zip(samples, beams, strict=True):
            candidates = drawn if wanted == "samples" else best if wanted == "beam" else [*drawn, *best]
            chosen.append(best_expected(candidates, drawn, self._text_of(encoded), utility)[:n_best])
        return chosen

    def _text_of(self, encoded: "_Encoded") -> Callable[[list[int]], str]:
        if encoded.narrow is None:
            return self.text_of
        ids = encoded.narrow.ids.tolist()
        return lambda numbers: self.text_of([ids[number] for number in numbers])


def _searched(encoded: "_Encoded", search: BeamSearch, n_best: int) -> list[list[Hypothesis]]:
    beam, alpha = search.beam, search.length_penalty
    if beam == 1 and n_best == 1 and not any(request.required for request in encoded.requests):
        return greedy_search(encoded.step, encoded.start(1), encoded.requests, alpha)
    return beam_search(encoded.step, encoded.start(beam), encoded.requests, beam=beam, alpha=alpha, n_best=n_best)


def _sampled(encoded: "_Encoded", search: SampleSearch, n: int) -> list[list[Hypothesis]]:
    """Draw n samples a sentence; each leaves the batch when it ends, so each has a row of its own in the state."""
    wide = encoded.repeated(n)
    seeds = [seed_of(search.seed, repr(list(source)), number) for source in encoded.sources for number in range(n)]
    samples = sample(
        wide.step,
        wide.start(1),
        wide.requests,
        seeds,
        temperature=search.temperature,
        top_k=search.top_k,
        top_p=search.top_p,
        epsilon=search.epsilon,
    )
    return [samples[start : start + n] for start in range(0, len(samples), n)]


class _Encoded(NamedTuple):
    """Encoded sources and their requests, whose ids are those of the shortlist where there is one."""

    ready: SearchableModel
    memory: Memory
    sources: list[Ids]
    requests: list[Request]
    narrow: ShortlistVocabulary | None

    def repeated(self, n: int) -> "_Encoded":
        """Repeat each sentence n times, one after the other."""
        memory = Memory(self.memory.values.repeat_interleave(n, dim=0), self.memory.mask.repeat_interleave(n, dim=0))
        wide = [request for request in self.requests for _ in range(n)]
        narrow = self.narrow and self.narrow._replace(allowed=self.narrow.allowed.repeat_interleave(n, dim=0))
        return self._replace(memory=memory, requests=wide, narrow=narrow)

    def start(self, beams: int) -> State:
        """Return the state before the first token."""
        state = self.ready.model.start(self.memory, beams)
        return state if self.narrow is None else self.narrow.start(state, beams)

    @property
    def step(self) -> Step:
        """Step function of the model, with its output layer, restricted to the shortlist where there is one."""
        model, readout = self.ready
        if self.narrow is not None:
            there = self.narrow._replace(ids=self.narrow.ids.to(device_of(model)))
            return there.step(model.step, readout.among(there.ids))

        def step(state: State, tokens: Tensor) -> tuple[Tensor, State]:
            hidden, after = model.step(state, tokens)
            return readout(hidden), after

        return step
