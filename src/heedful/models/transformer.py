"""The Transformer, Figure 1 of the paper from top to bottom. [Vaswani 2017, section 3]

Knows no tokens as text, no loss and no search. Shapes: B sentences, S/T source/target length, D d_model, K beams, N =
B * K rows.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Generic, TypeVar, cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.attention import KeyValue, Mask, MultiHeadAttention, RelativePositions, TopK, softmax
from heedful.layers.banded import restricted_attention
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import embeddings
from heedful.layers.feedforward import FeedForward
from heedful.layers.sublayer import Sublayer
from heedful.models.interface import Memory, Seq2Seq, State, sentences_that_stay
from heedful.models.positions import added_positions, relative_positions
from heedful.models.recording import is_recording, record
from heedful.models.transformer_config import TransformerConfig


@final
class Transformer(Seq2Seq):
    """Encoder and decoder stacks around attention alone. `tie` decides which of the three matrices are one."""

    def __init__(self, config: TransformerConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        matrices = embeddings(source_size, target_size, config.d_model, config.tie, scaled=config.scale_embedding)
        self.embed_target, self.embed_source, self.output = matrices
        self.output_bias = nn.Parameter(torch.zeros(target_size)) if config.output_bias else None
        self.source_positions, self.target_positions = added_positions(config), added_positions(config)
        self.dropout = Dropout(config.dropout)
        looking_around = relative_positions(config, config.n_encoder_layers, causal=False)
        looking_back = relative_positions(config, config.n_decoder_layers, causal=True)
        self.encoder = Stack(EncoderLayer(config, relative) for relative in looking_around)
        self.decoder = Stack(DecoderLayer(config, relative) for relative in looking_back)
        self.encoder_norm, self.decoder_norm = final_norm(config), final_norm(config)

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Memory:
        x = self.dropout(self.embed_source(src) + self.source_positions(src.shape[1]))
        mask = Mask.key_padding(src_mask)
        for number, layer in enumerate(self.encoder):
            x = layer(x, mask, f"encoder.{number}")
        return Memory(self.encoder_norm(x), src_mask)

    def decode(self, memory: Memory, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        length = tgt_in.shape[1]
        x = self.dropout(self.embed_target(tgt_in) + self.target_positions(length))
        causal = Mask.causal(length, length, offset=0, device=tgt_in.device)
        padding = Mask.key_padding(memory.mask)
        for number, layer in enumerate(self.decoder):
            read = layer.cross_attention.project(memory.values)
            x = layer(x, causal, read, padding, f"decoder.{number}")
        return self.decoder_norm(x)

    def start(self, memory: Memory, beams: int) -> "TransformerState":
        read = [layer.cross_attention.project(memory.values) for layer in self.decoder]
        padding = None if bool(memory.mask.all()) else Mask.key_padding(memory.mask)
        return TransformerState(beams, 0, [None] * len(read), read, padding)

    def step(self, state: State, tokens: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N D"], "TransformerState"]:
        assert isinstance(state, TransformerState)
        x = self.dropout(self.embed_target(tokens)[:, None] + self.target_positions(1, offset=state.length))  # [N 1 D]
        written: list[KeyValue | None] = []
        for layer, past, read in zip(self.decoder, state.written, state.read, strict=True):
            x, now = layer.step(x, past, read, state.padding, state.beams)
            written.append(now)
        after = TransformerState(state.beams, state.length + 1, written, state.read, state.padding)
        return self.decoder_norm(x)[:, 0], after

    @property
    def longest(self) -> int | None:
        return self.source_positions.longest

    def output_weight(self) -> Float[Tensor, "V D"]:
        return self.output.weight


LayerT = TypeVar("LayerT", bound=nn.Module)


class Stack(nn.ModuleList, Generic[LayerT]):
    """Layers of one type, from the bottom up."""

    def __init__(self, layers: Iterable[LayerT]) -> None:
        super().__init__(layers)

    def __iter__(self) -> Iterator[LayerT]:
        return cast(Iterator[LayerT], super().__iter__())


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each in its sublayer. [3.1]"""

    def __init__(self, config: TransformerConfig, relative: RelativePositions | None = None) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.relative = relative
        self.radius = config.encoder_radius
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.activation, config.ffn_dropout)
        self.self_sublayer, self.feed_sublayer = _sublayer(config), _sublayer(config)

    def forward(self, x: Float[Tensor, "B S D"], mask: Mask, name: str) -> Float[Tensor, "B S D"]:
        def attend_to_self(h: Tensor) -> Tensor:
            key_value = self.self_attention.project(h, self.relative)
            if self.radius is None:
                return read(self.self_attention, h, key_value, mask, f"{name}.self", self.relative)
            if is_recording():  # by the whole table, with the same result
                window = Mask.around(torch.arange(h.shape[1], device=h.device), self.radius, h.shape[1])
                return read(self.self_attention, h, key_value, window & mask, f"{name}.self", self.relative)
            kernel = partial(restricted_attention, radius=self.radius)
            return self.self_attention(h, key_value, mask, relative=self.relative, kernel=kernel).output

        x = self.self_sublayer(x, attend_to_self)
        return self.feed_sublayer(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory, then the feed-forward network. [3.1]

    `relative` positions are of self-attention alone: no word of the source has a distance from one of the target.
    """

    def __init__(self, config: TransformerConfig, relative: RelativePositions | None = None) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.relative = relative
        self.cross_attention = _attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.activation, config.ffn_dropout)
        self.self_sublayer, self.cross_sublayer, self.feed_sublayer = (_sublayer(config) for _ in range(3))

    def forward(
        self, x: Float[Tensor, "B T D"], causal: Mask, memory: KeyValue, padding: Mask, name: str
    ) -> Float[Tensor, "B T D"]:
        def attend_to_self(h: Tensor) -> Tensor:
            key_value = self.self_attention.project(h, self.relative)
            return read(self.self_attention, h, key_value, causal, f"{name}.self", self.relative)

        def attend_to_memory(h: Tensor) -> Tensor:
            return read(self.cross_attention, h, memory, padding, f"{name}.cross")

        x = self.self_sublayer(x, attend_to_self)
        x = self.cross_sublayer(x, attend_to_memory)
        return self.feed_sublayer(x, self.feed_forward)

    def step(
        self, x: Float[Tensor, "N 1 D"], past: KeyValue | None, read: KeyValue, padding: Mask | None, beams: int
    ) -> tuple[Float[Tensor, "N 1 D"], KeyValue]:
        """Process one position: append its keys and values to `past`; every query sees all of them."""
        written = past

        def attend_to_self(h: Tensor) -> Tensor:
            nonlocal written
            now = self.self_attention.project(h, self.relative, first=0 if past is None else past.length)
            written = now if past is None else past.append(now)
            return self.self_attention(h, written, relative=self.relative).output

        def attend_to_memory(h: Tensor) -> Tensor:
            # The K beams of a sentence are K queries to one memory, so that memory is never copied.  [N 1 D] -> [B K D]
            beside = h.view(-1, beams, h.shape[-1])
            return self.cross_attention(beside, read, padding).output.view_as(h)

        x = self.self_sublayer(x, attend_to_self)
        x = self.cross_sublayer(x, attend_to_memory)
        assert written is not None
        return self.feed_sublayer(x, self.feed_forward), written


@final
class TransformerState(State):
    """Keys and values: `written` a row (grows with each step), `read` from the memory, a sentence (never grows)."""

    def __init__(
        self,
        beams: int,
        length: int,
        written: list[KeyValue | None],
        read: list[KeyValue],
        padding: Mask | None,
    ) -> None:
        """Build a stack; `padding` is None where no sentence has any."""
        self.beams, self.length = beams, length
        self.written, self.read, self.padding = written, read, padding

    @property
    def device(self) -> torch.device:
        return self.read[0].key.device

    def reorder(self, rows: Int[Tensor, " N"]) -> "TransformerState":
        written = [None if past is None else past.reorder(rows) for past in self.written]
        sentences = sentences_that_stay(rows, self.beams, len(self.read[0].key))
        read, padding = self.read, self.padding
        if sentences is not None:
            read = [kv.reorder(sentences) for kv in read]
            padding = None if padding is None else Mask(padding.visible.index_select(0, sentences))
        return TransformerState(self.beams, self.length, written, read, padding)


def read(
    attention: MultiHeadAttention,
    query: Float[Tensor, "B T D"],
    key_value: KeyValue,
    mask: Mask,
    name: str,
    relative: RelativePositions | None = None,
) -> Float[Tensor, "B T D"]:
    """Attend, and record the weights under this name where they are wanted."""
    output, weights = attention(query, key_value, mask, relative=relative, weights=is_recording())
    record(name, weights, mask)
    return output


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.n_heads,
        d_k=config.head_key_width,
        d_v=config.head_value_width,
        bias=config.attention_bias,
        dropout=config.attention_dropout,
        normalise=softmax if config.attention_top_k is None else TopK(config.attention_top_k),
    )


def _sublayer(config: TransformerConfig) -> Sublayer:
    return Sublayer(config.d_model, config.norm, config.norm_epsilon, config.dropout)


def final_norm(config: TransformerConfig) -> nn.Module:
    """Return the norm at the end of a pre-norm stack; a post-norm one ends with its last sublayer's."""
    return nn.LayerNorm(config.d_model, eps=config.norm_epsilon) if config.norm == "pre" else nn.Identity()
