"""The convolutional encoder-decoder with an attention in each layer of the decoder. [Gehring 2017]

Knows no tokens as text, no loss and no search. Shapes: B sentences, S/T source/target length, D d_model, C d_hidden
channels, k kernel, P = k - 1, K beams, N = B * K rows.
"""

import math
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.attention import Mask, attend, dot
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import embeddings
from heedful.layers.position import LearnedPositions
from heedful.models.convs2s_config import ConvS2SConfig
from heedful.models.interface import Memory, Seq2Seq, State, sentences_that_stay
from heedful.models.recording import is_recording, record
from heedful.models.transformer import Stack

HALF = math.sqrt(0.5)  # keeps the variance of a sum of two [3.4]


@final
class ConvS2S(Seq2Seq):
    """Embeddings and learned positions, blocks of gated convolutions, and multi-step attention. [Gehring 2017, 3]

    The memory holds the keys z and, beside them, the values z + e. Left out of the paper: weight normalisation, and
    the scaling of the encoder's gradients by the number of attentions.
    """

    def __init__(self, config: ConvS2SConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        matrices = embeddings(source_size, target_size, config.d_model, config.tie, scaled=False)
        self.embed_target, self.embed_source, self.output = matrices
        self.output_bias = None
        self.source_positions, self.target_positions = (
            LearnedPositions(config.d_model, config.max_positions) for _ in range(2)
        )
        for positions in (self.source_positions, self.target_positions):
            nn.init.normal_(positions.weight, std=config.d_model**-0.5)  # that of words
        self.dropout = Dropout(config.dropout)
        self.encoder_in, self.decoder_in = (nn.Linear(config.d_model, config.d_hidden) for _ in range(2))
        self.encoder = Stack(ConvEncoderLayer(config) for _ in range(config.n_encoder_layers))
        attending = {"all": 0, "top": config.n_decoder_layers - 1}[config.attention_layers]  # from this layer on
        self.decoder = Stack(ConvDecoderLayer(config, attends=n >= attending) for n in range(config.n_decoder_layers))
        self.encoder_out, self.decoder_out = (nn.Linear(config.d_hidden, config.d_model) for _ in range(2))

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Memory:
        embedded = self.dropout(self.embed_source(src) + self.source_positions(src.shape[1]))  # e
        real = src_mask[:, :, None]
        x = self.encoder_in(embedded)
        for layer in self.encoder:
            x = layer(x, real)
        keys = self.encoder_out(x)  # z
        return Memory(torch.cat([keys, keys + embedded], dim=-1), src_mask)

    def decode(self, memory: Memory, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        state = self.start(memory, 1)
        hidden, _, of_layers = self._advance(state, tgt_in)
        for number, weights in enumerate(of_layers):
            record(f"decoder.{number}.cross", weights, state.read.padding)
        return hidden

    def start(self, memory: Memory, beams: int) -> "ConvS2SState":
        read = ConvMemory.of(memory)
        rows = len(memory.values) * beams
        return ConvS2SState(beams, 0, [layer.nothing(rows, memory.values) for layer in self.decoder], read)

    def step(self, state: State, tokens: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N D"], "ConvS2SState"]:
        assert isinstance(state, ConvS2SState)
        hidden, after, _ = self._advance(state, tokens[:, None])
        return hidden[:, 0], after

    def _advance(
        self, state: "ConvS2SState", tokens: Int[Tensor, "N T"]
    ) -> tuple[Float[Tensor, "N T D"], "ConvS2SState", list[Tensor | None]]:
        """Process T tokens a row after those that the state holds; also return each layer's weights while maps are
        recorded.
        """
        length = tokens.shape[1]
        positions = self.target_positions(length, offset=state.length)
        embedded = self.dropout(self.embed_target(tokens) + positions)  # g
        x = self.decoder_in(embedded)
        seen: list[Tensor] = []
        of_layers: list[Tensor | None] = []
        for layer, past in zip(self.decoder, state.seen, strict=True):
            x, now, weights = layer(x, past, embedded, state.read)
            seen.append(now)
            of_layers.append(weights if is_recording() else None)
        after = ConvS2SState(state.beams, state.length + length, seen, state.read)
        return self.dropout(self.decoder_out(x)), after, of_layers

    @property
    def memory_width(self) -> int:
        return 2 * self.output_weight().shape[1]

    @property
    def longest(self) -> int | None:
        return len(self.source_positions.weight)

    def output_weight(self) -> Float[Tensor, "V D"]:
        return self.output.weight


class ConvMemory(NamedTuple):
    """A memory as the decoder reads it."""

    key: Float[Tensor, "B 1 S D"]  # z
    value: Float[Tensor, "B 1 S D"]  # z + e
    padding: Mask
    scale: Float[Tensor, "B 1 1 1"]  # m sqrt(1 / m) for the m real tokens of a source [3.4]

    @staticmethod
    def of(memory: Memory) -> "ConvMemory":
        """Split a memory into keys and values."""
        key, value = memory.values[:, None].chunk(2, dim=-1)
        scale = memory.mask.sum(dim=1).to(key.dtype).sqrt()[:, None, None, None]
        return ConvMemory(key, value, Mask.key_padding(memory.mask), scale)

    def reorder(self, sentences: Int[Tensor, " B"]) -> "ConvMemory":
        """Return the memories of these sentences, in this order."""
        key, value, visible, scale = (
            part.index_select(0, sentences) for part in (self.key, self.value, self.padding.visible, self.scale)
        )
        return ConvMemory(key, value, Mask(visible), scale)


class GatedConvolution(nn.Module):
    """v([A B]) = A * sigmoid(B), where A and B are one convolution's. [Gehring 2017, 3.2; Dauphin 2017]"""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.kernel = config.kernel
        self.convolution = nn.Conv1d(config.d_hidden, 2 * config.d_hidden, config.kernel)
        self.dropout = Dropout(config.dropout)
        gain = 4 * (1 - config.dropout)  # a gate halves its input, and dropout adds variance [3.5]
        nn.init.normal_(self.convolution.weight, std=math.sqrt(gain / (config.kernel * config.d_hidden)))
        assert self.convolution.bias is not None
        nn.init.zeros_(self.convolution.bias)

    def forward(self, x: Float[Tensor, "N L C"]) -> Float[Tensor, "N T C"]:
        """Convolve without padding: T is L - k + 1."""
        return nn.functional.glu(self.convolution(self.dropout(x).mT).mT, dim=-1)


class ConvEncoderLayer(nn.Module):
    """A gated convolution around each token, and a residual. Padding is zero in every layer, like what is beyond it."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.gated = GatedConvolution(config)

    def forward(self, x: Float[Tensor, "B S C"], real: Bool[Tensor, "B S 1"]) -> Float[Tensor, "B S C"]:
        side = self.gated.kernel // 2
        around = nn.functional.pad(torch.where(real, x, 0.0), (0, 0, side, side))
        return (self.gated(around) + x) * HALF


class ConvDecoderLayer(nn.Module):
    """A gated convolution over a token and those before it, an attention, and residuals.

    d_i = W_d h_i + b_d + g_i, a_ij = softmax_j(d_i . z_j), c_i = sum_j a_ij (z_j + e_j). [Gehring 2017, 3.3, Eq. 1, 2]
    """

    def __init__(self, config: ConvS2SConfig, *, attends: bool) -> None:
        super().__init__()
        self.gated = GatedConvolution(config)
        self.channels = config.d_hidden
        self.attends = attends
        if attends:
            self.project_query = nn.Linear(config.d_hidden, config.d_model)
            self.project_context = nn.Linear(config.d_model, config.d_hidden)

    def nothing(self, rows: int, like: Tensor) -> Float[Tensor, "N P C"]:
        """Return the zeros that stand before the first token."""
        return like.new_zeros(rows, self.gated.kernel - 1, self.channels)

    def forward(
        self,
        x: Float[Tensor, "N T C"],
        past: Float[Tensor, "N P C"],
        embedded: Float[Tensor, "N T D"],
        source: ConvMemory,
    ) -> tuple[Float[Tensor, "N T C"], Float[Tensor, "N P C"], Float[Tensor, "B 1 KT S"] | None]:
        """Process new inputs after `past`, the k - 1 inputs before them; return the outputs, the new `past` and the
        weights.
        """
        inputs = torch.cat([past.to(x.dtype), x], dim=1)
        h = self.gated(inputs)
        last = inputs[:, inputs.shape[1] - self.gated.kernel + 1 :]
        if not self.attends:
            return (h + x) * HALF, last, None
        query = self.project_query(h) + embedded
        beside = query.reshape(len(source.key), 1, -1, query.shape[-1])  # the beams of a sentence read one memory
        read = attend(beside, source.key, source.value, score=dot, mask=source.padding)
        context = (read.context * source.scale).reshape(query.shape)
        h = (h + self.project_context(context)) * HALF
        return (h + x) * HALF, last, read.weights


@final
class ConvS2SState(State):
    """The last k - 1 inputs of each layer, for each row, and the source of each sentence."""

    def __init__(self, beams: int, length: int, seen: list[Tensor], read: ConvMemory) -> None:
        self.beams, self.length, self.seen, self.read = beams, length, seen, read

    @property
    def device(self) -> torch.device:
        return self.read.key.device

    def reorder(self, rows: Int[Tensor, " N"]) -> "ConvS2SState":
        sentences = sentences_that_stay(rows, self.beams, len(self.read.key))
        read = self.read if sentences is None else self.read.reorder(sentences)
        return ConvS2SState(self.beams, self.length, [part.index_select(0, rows) for part in self.seen], read)
