"""Recurrent decoders: how a step of the target reads the source. Each is a part of `RNN`, which knows what all share.

Knows no tokens and no search. Shapes: B sentences, S/T source/target length, D d_model, H d_hidden, L layers, K beams,
N = B * K rows. The K beams of a sentence are K queries to one memory, which is never copied.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attention import Additive, Attended, General, Location, Mask, attend, dot, softmax
from heedful.attention.local import LocalP, PositionPredictor
from heedful.layers.dropout import Dropout
from heedful.models.interface import Memory
from heedful.models.recording import is_recording
from heedful.models.rnn_config import RNNConfig

CELLS = {"gru": nn.GRU, "lstm": nn.LSTM}


class RecurrentMemory(NamedTuple):
    """A memory as the decoder reads it."""

    key: Float[Tensor, "B 1 S A"]
    value: Float[Tensor, "B 1 S H"]
    padding: Mask
    summary: Float[Tensor, "B H"]  # the last state of each direction

    def reorder(self, sentences: Int[Tensor, " B"]) -> "RecurrentMemory":
        """Return the memories of these sentences, in this order."""
        key, value, summary = (part.index_select(0, sentences) for part in (self.key, self.value, self.summary))
        return RecurrentMemory(key, value, Mask(self.padding.visible.index_select(0, sentences)), summary)


class DecoderPast(NamedTuple):
    """State that one step leaves to the next."""

    states: tuple[Float[Tensor, "L N H"], ...]  # of GRU cells one, of LSTM cells two
    last: Float[Tensor, "N D"]  # what predicted last; zeros at the start
    length: int  # steps taken

    def reorder(self, rows: Int[Tensor, " N"]) -> "DecoderPast":
        """Return the states of these rows, in this order."""
        states = tuple(state.index_select(1, rows) for state in self.states)
        return DecoderPast(states, self.last.index_select(0, rows), self.length)


class DecoderOutput(NamedTuple):
    """The vectors that predict the next tokens, what is left to the next step, and the weights, while maps are kept."""

    hidden: Float[Tensor, "N T D"]
    past: DecoderPast
    weights: Float[Tensor, "B 1 KT S"] | None = None


class Decoder(nn.Module, ABC):
    """A stack of recurrent layers over `width` inputs."""

    def __init__(self, config: RNNConfig, width: int) -> None:
        super().__init__()
        layers = config.n_decoder_layers
        dropout = config.dropout if layers > 1 else 0.0
        self.recurrence = CELLS[config.cell](width, config.d_hidden, layers, batch_first=True, dropout=dropout)
        n_states = {"gru": 1, "lstm": 2}[config.cell] * layers
        self.bridge = nn.Linear(config.d_hidden, n_states * config.d_hidden)
        self.layers = layers
        self.dropout = Dropout(config.dropout)

    @abstractmethod
    def run(self, embedded: Float[Tensor, "N T D"], past: DecoderPast, source: RecurrentMemory) -> DecoderOutput:
        """Consume T embedded tokens a row, one after the other."""

    def read(self, memory: Memory, summary: Float[Tensor, "B H"]) -> RecurrentMemory:
        """Prepare the source, with all that need be computed only once."""
        values = memory.values[:, None]
        return RecurrentMemory(self.keys(values), values, Mask.key_padding(memory.mask), summary)

    def keys(self, values: Float[Tensor, "B 1 S H"]) -> Float[Tensor, "B 1 S A"]:
        """Return the keys that queries are compared with."""
        return values

    def begin(self, summary: Float[Tensor, "N H"], width: int) -> DecoderPast:
        """Return tanh(W c + b), the first state of every layer, from the last one of the encoder. [Bahdanau 2015,
        A.2.2]
        """
        parts = torch.tanh(self.bridge(summary)).unflatten(1, (-1, self.layers, summary.shape[1]))
        states = tuple(part.transpose(0, 1).contiguous() for part in parts.unbind(1))
        return DecoderPast(states, summary.new_zeros(len(summary), width), 0)

    def advance(
        self, inputs: Float[Tensor, "N T E"], states: tuple[Tensor, ...]
    ) -> tuple[Float[Tensor, "N T H"], tuple[Tensor, ...]]:
        """Run the recurrence over T inputs."""
        states = tuple(state.to(inputs.dtype) for state in states)
        outputs, after = self.recurrence(inputs, states if len(states) == 2 else states[0])
        return outputs, after if len(states) == 2 else (after,)


@final
class BottleneckDecoder(Decoder):
    """s_t = f(s_{t-1}, y_{t-1}, c), where c is all that is known of the source. [Cho 2014, 2.2]

    Without `feedback` y_{t-1} is left out, so that outputs depend on the source and their position alone. Predicts
    from tanh(W [s_t; c; y_{t-1}]), where the paper has a maxout layer.
    """

    def __init__(self, config: RNNConfig) -> None:
        fed = config.d_model if config.feedback else 0
        super().__init__(config, fed + config.d_hidden)
        self.feedback = config.feedback
        self.readout = nn.Linear(2 * config.d_hidden + fed, config.d_model)

    def run(self, embedded: Float[Tensor, "N T D"], past: DecoderPast, source: RecurrentMemory) -> DecoderOutput:
        rows, length, _ = embedded.shape
        beams = rows // len(source.summary)
        context = source.summary.repeat_interleave(beams, dim=0)[:, None].expand(-1, length, -1)
        known = [context, embedded] if self.feedback else [context]
        outputs, states = self.advance(torch.cat(known, dim=-1), past.states)
        hidden = torch.tanh(self.readout(torch.cat([outputs, *known], dim=-1)))
        return DecoderOutput(self.dropout(hidden), DecoderPast(states, past.last, past.length + length))


@final
class BahdanauDecoder(Decoder):
    """Attention asks with the state before the step: c_i from s_{i-1}, then s_i = f(s_{i-1}, y_{i-1}, c_i).
    [Bahdanau 2015, 3.1, A.1.2, A.2.2]

    The score is additive, and U_a h_j is computed once a sentence. Predicts from tanh(W [s_i; c_i; y_{i-1}]), where
    the paper has a maxout layer over s_{i-1}. GRU cells are torch's, which multiply by the reset gate after the matrix.
    """

    def __init__(self, config: RNNConfig) -> None:
        super().__init__(config, config.d_model + config.d_hidden)
        self.score = Additive(config.d_hidden, config.d_hidden, config.d_hidden)
        self.readout = nn.Linear(2 * config.d_hidden + config.d_model, config.d_model)

    def keys(self, values: Float[Tensor, "B 1 S H"]) -> Float[Tensor, "B 1 S A"]:
        return self.score.project_key(values)

    def run(self, embedded: Float[Tensor, "N T D"], past: DecoderPast, source: RecurrentMemory) -> DecoderOutput:
        states, reads, outputs = past.states, [], []
        for token in embedded.unbind(1):
            query = states[0][-1]  # [N H], of the uppermost layer
            asked = beside(query[:, None], source)
            read = attend(asked, source.key, source.value, score=self.score.match, mask=source.padding)
            context = read.context.reshape(query.shape)
            output, states = self.advance(torch.cat([token, context], dim=-1)[:, None], states)
            outputs.append(torch.cat([output[:, 0], context], dim=-1))
            reads.append(read)
        hidden = torch.tanh(self.readout(torch.cat([torch.stack(outputs, dim=1), embedded], dim=-1)))
        past = DecoderPast(states, past.last, past.length + embedded.shape[1])
        return DecoderOutput(self.dropout(hidden), past, wanted_weights(reads))


@final
class LuongDecoder(Decoder):
    """Attention asks with the state after the step, and predicts from tanh(W_c [c_t; h_t]). [Luong 2015, 3, Eq. 5]

    A window of local-m stands around the place of the step itself, one of local-p around a predicted one [3.2]. With
    input feeding a step sees, beside y_{t-1}, the vector that predicted it [3.3]; else all steps are read at once.
    """

    def __init__(self, config: RNNConfig) -> None:
        super().__init__(config, config.d_model * (2 if config.input_feeding else 1))
        width = config.d_hidden
        self.score = {
            "dot": lambda: dot,
            "general": lambda: General(width, width),
            "concat": lambda: Additive(width, width, width),
            "location": lambda: Location(width, config.max_positions),
        }[config.luong_score]()
        self.input_feeding = config.input_feeding
        self.radius = None if config.window is None else config.window_radius
        self.predict = PositionPredictor(width, width) if config.window == "local-p" else None
        self.combine = nn.Linear(2 * width, config.d_model, bias=False)

    def keys(self, values: Float[Tensor, "B 1 S H"]) -> Float[Tensor, "B 1 S A"]:
        return self.score.project_key(values) if isinstance(self.score, Additive) else values

    def run(self, embedded: Float[Tensor, "N T D"], past: DecoderPast, source: RecurrentMemory) -> DecoderOutput:
        hidden: list[Tensor] = []
        reads: list[Attended] = []
        for inputs in embedded.split(1, dim=1) if self.input_feeding else [embedded]:
            fed = [inputs, past.last[:, None].to(inputs.dtype)] if self.input_feeding else [inputs]
            outputs, states = self.advance(torch.cat(fed, dim=-1), past.states)
            read = self._read(outputs, past.length, source)
            context = read.context.reshape(outputs.shape)
            hidden.append(self.dropout(torch.tanh(self.combine(torch.cat([context, outputs], dim=-1)))))
            past = DecoderPast(states, hidden[-1][:, -1], past.length + inputs.shape[1])
            reads.append(read)
        return DecoderOutput(torch.cat(hidden, dim=1), past, wanted_weights(reads))

    def _read(self, outputs: Float[Tensor, "N T H"], length: int, source: RecurrentMemory) -> Attended:
        score = self.score.match if isinstance(self.score, Additive) else self.score
        query, mask, normalise = beside(outputs, source), source.padding, softmax
        if self.predict is not None and self.radius is not None:
            n_keys = mask.visible.sum(dim=-1)[:, 0, 0]
            normalise = LocalP(self.predict(query[:, 0], n_keys), self.radius)
        elif self.radius is not None:
            steps = torch.arange(length, length + outputs.shape[1], device=query.device)
            around = Mask.around(steps.repeat(query.shape[2] // len(steps)), self.radius, source.key.shape[2])
            mask = mask & around
        return attend(query, source.key, source.value, score=score, mask=mask, normalise=normalise)


def beside(queries: Float[Tensor, "N T H"], source: RecurrentMemory) -> Float[Tensor, "B 1 KT H"]:
    """Lay the queries of all beams of a sentence one after the other."""
    return queries.reshape(len(source.value), 1, -1, queries.shape[-1])


def wanted_weights(reads: list[Attended]) -> Float[Tensor, "B 1 KT S"] | None:
    """Return the weights of steps that were taken one by one; None where no maps are kept."""
    if not is_recording():
        return None
    return torch.cat([read.weights for read in reads if read.weights is not None], dim=2)


def build_decoder(config: RNNConfig) -> Decoder:
    """Build the decoder that a configuration names."""
    kinds = {"none": BottleneckDecoder, "bahdanau": BahdanauDecoder, "luong": LuongDecoder}
    return kinds[config.attention](config)
