"""The recurrent encoder-decoder, with and without attention. [Sutskever 2014; Cho 2014; Bahdanau 2015; Luong 2015]

Knows no tokens as text, no loss and no search. Shapes: B sentences, S/T source/target length, D d_model, H d_hidden, K
beams, N = B * K rows.
"""

from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.layers.dropout import Dropout
from heedful.layers.embedding import embeddings
from heedful.layers.recurrent import recur
from heedful.models.interface import Memory, Seq2Seq, State, sentences_that_stay
from heedful.models.recording import record
from heedful.models.rnn_config import RNNConfig
from heedful.models.rnn_decoders import CELLS, DecoderPast, RecurrentMemory, build_decoder


@final
class RNN(Seq2Seq):
    """h_j = f(x_j, h_{j-1}) reads the source; one of three decoders writes the target. [Cho 2014, 2.2]

    The memory is h_1 .. h_S of the uppermost layer, in both directions side by side [Bahdanau 2015, 3.2], and zero
    where there is padding. Its last state (backward: its first) is the fixed vector c that a decoder without attention
    reads, and from which each one starts.
    """

    def __init__(self, config: RNNConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        matrices = embeddings(source_size, target_size, config.d_model, config.tie, scaled=True)
        self.embed_target, self.embed_source, self.output = matrices
        self.output_bias = None
        self.dropout = Dropout(config.dropout)
        self.encoder = CELLS[config.cell](
            config.d_model,
            config.d_hidden // 2 if config.bidirectional else config.d_hidden,
            config.n_encoder_layers,
            batch_first=True,
            bidirectional=config.bidirectional,
            dropout=config.dropout if config.n_encoder_layers > 1 else 0.0,
        )
        self.decoder = build_decoder(config)
        self.config = config

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Memory:
        """Encode the sources. Raises ValueError unless the real tokens of each source stand first, and
        there are some.
        """
        lengths = src_mask.sum(dim=1)
        positions = torch.arange(src.shape[1], device=src.device)
        if not torch.equal(src_mask, positions < lengths[:, None]) or not lengths.all():
            raise ValueError(
                "`src_mask` must be True for the first tokens of each source, at least one, and then False."
            )
        return Memory(recur(self.encoder, self.dropout(self.embed_source(src)), src_mask), src_mask)

    def decode(self, memory: Memory, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        state = self.start(memory, 1)
        embedded = self.dropout(self.embed_target(tgt_in))
        decoded = self.decoder.run(embedded, state.past, state.source)
        record("decoder.0.cross", decoded.weights, state.source.padding)
        return decoded.hidden

    def start(self, memory: Memory, beams: int) -> "RNNState":
        summary = self._summary(memory)
        past = self.decoder.begin(summary.repeat_interleave(beams, dim=0), self.config.d_model)
        return RNNState(beams, past, self.decoder.read(memory, summary))

    def step(self, state: State, tokens: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N D"], "RNNState"]:
        assert isinstance(state, RNNState)
        embedded = self.dropout(self.embed_target(tokens))[:, None]
        decoded = self.decoder.run(embedded, state.past, state.source)
        return decoded.hidden[:, 0], RNNState(state.beams, decoded.past, state.source)

    @property
    def memory_width(self) -> int:
        return self.config.d_hidden

    @property
    def longest(self) -> int | None:
        return self.config.longest

    def output_weight(self) -> Float[Tensor, "V D"]:
        return self.output.weight

    def _summary(self, memory: Memory) -> Float[Tensor, "B H"]:
        """Return the encoder's summary of the source: its last state; of the backward direction, that of the first
        position.
        """
        sentences = torch.arange(len(memory.mask), device=memory.mask.device)
        last = memory.values[sentences, memory.mask.sum(dim=1) - 1]
        if not self.config.bidirectional:
            return last
        half = self.config.d_hidden // 2
        return torch.cat([last[:, :half], memory.values[:, 0, half:]], dim=1)


@final
class RNNState(State):
    """The recurrent states of each row, and the source of each sentence."""

    def __init__(self, beams: int, past: DecoderPast, source: RecurrentMemory) -> None:
        self.beams, self.past, self.source = beams, past, source

    @property
    def device(self) -> torch.device:
        return self.source.value.device

    def reorder(self, rows: Int[Tensor, " N"]) -> "RNNState":
        sentences = sentences_that_stay(rows, self.beams, len(self.source.value))
        source = self.source if sentences is None else self.source.reorder(sentences)
        return RNNState(self.beams, self.past.reorder(rows), source)
