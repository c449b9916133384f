"""The model of connectionist temporal classification: a symbol or a blank at each place of the source. [Graves 2006]

Knows no tokens as text, no loss and no search. Shapes: B sentences, S source ids, F frames (or tokens) of W numbers, T
positions, V vocabulary. The blank is the id of PAD, which no target holds.
"""

from typing import NamedTuple, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.models.ctc_config import CTCConfig
from heedful.models.encoders import RecurrentEncoder
from heedful.models.interface import EncoderOnly, Prediction
from heedful.text.vocabulary import SPECIALS


class Frames(NamedTuple):
    """Frames of each source, from its first token to its last; zero behind the last one."""

    values: Float[Tensor, "B F W"]
    lengths: Int[Tensor, " B"]


@final
class CTC(EncoderOnly):
    """y_t = softmax(W h_t + b) over the symbols and the blank, where h reads the source both ways. [Graves 2006, 3.1]

    A frame is the embedding of a token, or `frame_width` numbers of the source in a row. These are levels of energy,
    and are normalised for each utterance and band to mean 0 and variance 1. Then `stride` frames are stacked to a
    position, or `upsample` positions are made of a frame by as many matrices.
    """

    task = "ctc"

    def __init__(self, config: CTCConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        speech = config.frame_width is not None
        self.embed_source = None if speech else Embedding(source_size, config.d_model, scaled=True)
        width = (config.frame_width or config.d_model) * config.stride
        self.project = nn.Linear(width, config.upsample * config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = RecurrentEncoder(
            config.d_model, config.d_hidden, config.cell, config.n_layers, dropout=config.dropout
        )
        self.output = nn.Linear(config.d_hidden, target_size)

    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        """Predict. There is no attention to record. A source without a frame has no position.

        Raises ValueError where the source is speech and ends within a frame.
        """
        frames = self._frames(src, src_mask)
        stacked = stack(frames.values, self.config.stride)
        positions = self.project(stacked).view(len(src), -1, self.config.d_model)  # [B T D]
        lengths = -(-frames.lengths // self.config.stride) * self.config.upsample
        times = torch.arange(positions.shape[1], device=src.device)
        read = times < lengths.clamp(min=1)[:, None]  # recurrent layers need one position at least
        hidden = self.encoder(self.dropout(positions), read)[-1]
        return Prediction(self.output(self.dropout(hidden)), times < lengths[:, None])

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return self.config.output_lengths(n_source)

    def _frames(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Frames:
        lengths = src_mask.sum(dim=1) - 1  # the last token is EOS
        width = self.config.frame_width
        if self.embed_source is not None:
            read = torch.arange(src.shape[1], device=src.device) < lengths[:, None]
            return Frames(self.embed_source(src) * read[:, :, None], lengths)
        assert width is not None
        if (lengths % width).any():
            raise ValueError(f"`src` must hold whole frames of {width} numbers, but has {lengths.tolist()} numbers.")
        n_frames = max(1, (src.shape[1] - 1) // width)
        numbers = nn.functional.pad(src, (0, max(0, n_frames * width - src.shape[1])))[:, : n_frames * width]
        levels = (numbers - len(SPECIALS)).to(self.project.weight.dtype).view(len(src), n_frames, width)
        lengths = lengths // width
        real = (torch.arange(n_frames, device=src.device) < lengths[:, None])[:, :, None]  # [B F 1]
        normal = normalised(levels, real)
        return Frames(self._moved(normal) if self.training and self.config.band_shift else normal, lengths)

    def _moved(self, values: Float[Tensor, "B F W"]) -> Float[Tensor, "B F W"]:
        """Shift the bands of each utterance up or down by a random number; the outermost band fills the gap.

        A shorter vocal tract has all its resonances higher, so this makes voices that the data lack.
        """
        most, width = self.config.band_shift, values.shape[2]
        by = torch.randint(-most, most + 1, (len(values), 1), device=values.device)
        bands = (torch.arange(width, device=values.device) + by).clamp(0, width - 1)  # [B W]
        return values.gather(2, bands[:, None].expand_as(values))


def normalised(values: Float[Tensor, "B F W"], real: Bool[Tensor, "B F 1"]) -> Float[Tensor, "B F W"]:
    """Scale each band of each utterance to mean 0 and variance 1 over the real frames; zero elsewhere.

    One is added to the variance, that of a single level of 256: silence stays silence.
    """
    count = real.sum(dim=1, keepdim=True).clamp(min=1)
    centred = (values - (values * real).sum(dim=1, keepdim=True) / count) * real
    variance = centred.square().sum(dim=1, keepdim=True) / count
    return centred / (variance + 1).sqrt()


def stack(frames: Float[Tensor, "B F W"], stride: int) -> Float[Tensor, "B T _"]:
    """Concatenate each `stride` neighbours, with zeros behind the last ones."""
    missing = -frames.shape[1] % stride
    return nn.functional.pad(frames, (0, 0, 0, missing)).reshape(len(frames), -1, stride * frames.shape[2])
