"""Several models that answer as one, by the mean of their probabilities of the next token.

Knows no search and no text.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NoReturn, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.layers.inference_linear import Readout
from heedful.models.interface import Memory, Seq2Seq, State
from heedful.models.recording import is_recording

Mean = Literal["arithmetic", "geometric"]


@final
class Ensemble(Seq2Seq):
    """Models that share both vocabularies, as one model. [Sutskever 2014, 3.6]

    "arithmetic" averages probabilities, "geometric" log-probabilities (which search normalises again). Memory and
    hidden vectors are those of the members, one beside the other: M and D are the sums of their widths.
    """

    def __init__(self, models: Sequence[Seq2Seq], mean: Mean = "arithmetic") -> None:
        super().__init__()
        sizes = {len(model.output_weight()) for model in models}
        if len(sizes) != 1:
            found = ", ".join(map(str, sorted(sizes))) or "nothing"
            raise ValueError(f"`models` must be at least one, all with one target vocabulary, but are of {found} ids.")
        self.members = nn.ModuleList(models)
        self._models = list(models)
        self.mean: Mean = mean
        self._widths = [model.output_weight().shape[1] for model in models]

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Memory:
        if is_recording():
            raise ValueError("Attention maps are those of one model: ask a member of the ensemble.")
        return Memory(torch.cat([model.encode(src, src_mask).values for model in self._models], dim=-1), src_mask)

    def decode(self, memory: Memory, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        each = zip(self._models, self._memories(memory), strict=True)
        return torch.cat([model.decode(part, tgt_in) for model, part in each], dim=-1)

    def start(self, memory: Memory, beams: int) -> "EnsembleState":
        each = zip(self._models, self._memories(memory), strict=True)
        return EnsembleState([model.start(part, beams) for model, part in each])

    def step(self, state: State, tokens: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N D"], "EnsembleState"]:
        assert isinstance(state, EnsembleState)
        steps = [model.step(part, tokens) for model, part in zip(self._models, state.states, strict=True)]
        return torch.cat([hidden for hidden, _ in steps], dim=-1), EnsembleState([after for _, after in steps])

    @property
    def longest(self) -> int | None:
        return min((model.longest for model in self._models if model.longest is not None), default=None)

    def output_weight(self) -> NoReturn:
        raise ValueError("An ensemble has no output matrix of its own: ask its members.")

    def logits(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return _averaged([model.logits for model in self._models], self._widths, self.mean, hidden)

    def readout(self, make: Callable[[Tensor, Tensor | None], Readout]) -> Readout:
        return AveragedReadout([model.readout(make) for model in self._models], self._widths, self.mean)

    def _memories(self, memory: Memory) -> list[Memory]:
        widths = [model.memory_width for model in self._models]
        return [Memory(values, memory.mask) for values in memory.values.split(widths, dim=-1)]


@final
class AveragedReadout(Readout):
    """The output layers of all members, and the mean of what they say."""

    def __init__(self, readouts: Sequence[Readout], widths: Sequence[int], mean: Mean) -> None:
        self.readouts, self.widths = list(readouts), list(widths)
        self.mean: Mean = mean

    def __call__(self, hidden: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows V"]:
        return _averaged(self.readouts, self.widths, self.mean, hidden)

    def among(self, ids: Int[Tensor, " U"]) -> Callable[[Tensor], Tensor]:
        outputs = [readout.among(ids) for readout in self.readouts]
        return lambda hidden: _averaged(outputs, self.widths, self.mean, hidden)


def _averaged(outputs: Sequence[Callable[[Tensor], Tensor]], widths: list[int], mean: Mean, hidden: Tensor) -> Tensor:
    parts = zip(outputs, hidden.split(widths, dim=-1), strict=True)
    log_p = torch.stack([output(part).float().log_softmax(dim=-1) for output, part in parts])
    if mean == "geometric":
        return log_p.mean(dim=0)
    return log_p.logsumexp(dim=0) - torch.log(torch.tensor(len(log_p)))


@final
class EnsembleState(State):
    """The states of all members; one order for all."""

    def __init__(self, states: Sequence[State]) -> None:
        self.states = list(states)

    @property
    def device(self) -> torch.device:
        return self.states[0].device

    def reorder(self, rows: Int[Tensor, " N"]) -> "EnsembleState":
        return EnsembleState([state.reorder(rows) for state in self.states])
