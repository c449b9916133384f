"""From requests to hypotheses: one model, its search settings, and the ways of searching put together.

Knows ids, no text but through `text_of`, and no lines.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, final

from torch import Tensor

from heedful.data.batch import collate
from heedful.decoding.beam import beam_search
from heedful.decoding.config import SearchConfig
from heedful.decoding.greedy import greedy_search
from heedful.decoding.sampling import sample
from heedful.decoding.search import Hypothesis, Request, Step
from heedful.decoding.shortlist import Narrow, Shortlist
from heedful.models.device import device_of
from heedful.models.interface import Memory, Seq2Seq, State
from heedful.seeds import seed_of


@final
class Searcher:
    """How one model is searched."""

    def __init__(
        self,
        model: Seq2Seq,
        search: SearchConfig,
        text_of: Callable[[list[int]], str],
        shortlist: Shortlist | None = None,
    ) -> None:
        """`text_of` gives the text of ids, which MBR decoding compares. A shortlist is used whenever one is given."""
        self.model, self.search, self.text_of, self.shortlist = model, search, text_of, shortlist

    def rows(self, n_best: int) -> int:
        """The rows that each sentence takes."""
        search = self.search
        if search.mbr_samples is not None:
            return max(search.mbr_samples, 0 if search.mbr_candidates == "samples" else search.beam)
        return n_best if search.temperature is not None else search.beam

    def __call__(
        self, sources: Sequence[Sequence[int]], requests: Sequence[Request], n_best: int
    ) -> list[list[Hypothesis]]:
        """The `n_best` best hypotheses of each source, best first; none where the model gives none."""
        batch = collate([(list(source), []) for source in sources], range(len(sources))).to(device_of(self.model))
        memory = self.model.encode(batch.src, batch.src_mask)
        if self.shortlist is None:
            task = _Task(self.model, memory, list(sources), list(requests), None)
        else:
            narrow = self.shortlist.narrow(sources, requests)
            task = _Task(self.model, memory, list(sources), narrow.asked(requests), narrow)
        found = self._found(task, n_best)
        return found if task.narrow is None else [task.narrow.found(some) for some in found]

    def _found(self, task: "_Task", n_best: int) -> list[list[Hypothesis]]:
        if self.search.mbr_samples is not None:
            return self._agreed(task, self.search.mbr_samples, n_best)
        if self.search.temperature is not None:
            return self._sampled(task, n_best)
        return self._searched(task, n_best)

    def _searched(self, task: "_Task", n_best: int) -> list[list[Hypothesis]]:
        beam, alpha = self.search.beam, self.search.length_penalty
        if beam == 1 and n_best == 1 and not any(request.required for request in task.requests):
            return greedy_search(task.step, task.start(1), task.requests, alpha)
        return beam_search(task.step, task.start(beam), task.requests, beam=beam, alpha=alpha, n_best=n_best)

    def _sampled(self, task: "_Task", n: int) -> list[list[Hypothesis]]:
        """n samples a sentence; each leaves the batch when it ends, so each has a row of its own in the state."""
        search, wide = self.search, task.repeated(n)
        seeds = [seed_of(search.seed, repr(list(source)), number) for source in task.sources for number in range(n)]
        samples = sample(
            wide.step,
            wide.start(1),
            wide.requests,
            seeds,
            temperature=search.temperature or 1.0,
            top_k=search.top_k,
            top_p=search.top_p,
            epsilon=search.epsilon,
        )
        return [samples[start : start + n] for start in range(0, len(samples), n)]

    def _agreed(self, task: "_Task", n: int, n_best: int) -> list[list[Hypothesis]]:
        """MBR: what n samples of the model agree with most, among themselves, the beam's best, or both."""
        from heedful.decoding.mbr import best_expected, utility_of  # sacrebleu is slow to import

        utility, wanted = utility_of(self.search.mbr_utility), self.search.mbr_candidates
        samples = self._sampled(task, n)
        beams = self._searched(task, self.search.beam) if wanted != "samples" else [[] for _ in samples]
        chosen = []
        for drawn, best in zip(samples, beams, strict=True):
            candidates = drawn if wanted == "samples" else best if wanted == "beam" else [*drawn, *best]
            chosen.append(best_expected(candidates, drawn, self._text_of(task), utility)[:n_best])
        return chosen

    def _text_of(self, task: "_Task") -> Callable[[list[int]], str]:
        if task.narrow is None:
            return self.text_of
        ids = task.narrow.ids.tolist()
        return lambda numbers: self.text_of([ids[number] for number in numbers])


class _Task(NamedTuple):
    """Encoded sources and what is asked of them, in the numbers of the vocabulary that is searched."""

    model: Seq2Seq
    memory: Memory
    sources: list[Sequence[int]]
    requests: list[Request]
    narrow: Narrow | None

    def repeated(self, n: int) -> "_Task":
        """Each sentence n times, one after the other."""
        memory = Memory(self.memory.values.repeat_interleave(n, dim=0), self.memory.mask.repeat_interleave(n, dim=0))
        wide = [request for request in self.requests for _ in range(n)]
        narrow = self.narrow and self.narrow._replace(allowed=self.narrow.allowed.repeat_interleave(n, dim=0))
        return self._replace(memory=memory, requests=wide, narrow=narrow)

    def start(self, beams: int) -> State:
        """The state before the first token."""
        state = self.model.start(self.memory, beams)
        return state if self.narrow is None else self.narrow.start(state, beams)

    @property
    def step(self) -> Step:
        """What search calls."""
        if self.narrow is not None:
            there = self.narrow._replace(ids=self.narrow.ids.to(device_of(self.model)))
            return there.step(self.model.step, self.model.logits_among(there.ids))

        def step(state: State, tokens: Tensor) -> tuple[Tensor, State]:
            hidden, after = self.model.step(state, tokens)
            return self.model.logits(hidden), after

        return step
