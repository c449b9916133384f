"""Reading a story for the word that answers a question: attention over attention, and attention sum.

Knows no text and no loss. B stories, S tokens of story and question with the EOS of each sentence, Q words of the
question, H width of the states, V words, the same for the source and the target.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.attention import Mask, ScatterSum, dot, softmax
from heedful.gallery.layers.memory import attention_over_attention
from heedful.gallery.layers.source_parts import parts_of, story_error
from heedful.gallery.reading.config import ReaderConfig
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.layers.recurrent import recur
from heedful.models.interface import EncoderOnly, Prediction
from heedful.models.recording import record
from heedful.text.vocabulary import EOS

FLOOR = 1e-12  # the probability of a word that the story does not hold


@final
class StoryReader(EncoderOnly):
    """P(w) = sum of s_i over the positions i of the story where w stands. [Cui 2017, 3; Kadlec 2016, 3]

    With attention "over", s is what `attention_over_attention` makes of the states of story and question; with "sum",
    s = softmax(h_i . q), q the last states of the question, in both directions. The question is the last part of the
    source; an EOS is read as a word is, but is no answer. A word that is not in the story has probability FLOOR, and
    teaches nothing.
    """

    def __init__(self, config: ReaderConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        if source_size != target_size:
            raise ValueError(
                f"A reader answers with words of its source, but the vocabularies have {source_size} and {target_size} "
                "entries: use a joint tokenizer."
            )
        self.attention = config.attention
        self.embed = Embedding(source_size, config.d_model, scaled=True)
        self.dropout = Dropout(config.dropout)
        self.story, self.question = (
            nn.GRU(config.d_model, config.d_hidden // 2, batch_first=True, bidirectional=True) for _ in range(2)
        )
        self.by_word = ScatterSum(target_size)

    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        parts = parts_of(src, src_mask)
        rows, asked = torch.arange(len(src), device=src.device), parts.real.sum(dim=1) - 1
        begins = torch.where(asked > 0, parts.ends[rows, asked - 1] + 1, 0)  # of the question
        told = torch.arange(src.shape[1], device=src.device) < begins[:, None]
        embedded = self.dropout(self.embed(src))
        story = recur(self.story, embedded, told)
        words = parts.mask[rows, asked]  # [B Q]
        question = recur(self.question, embedded[rows[:, None], parts.positions[rows, asked]], words)
        readable = told & (src != EOS)
        read = self._read(story, question, readable, words)[:, None, None]  # [B 1 1 S]
        record("reader.0.read", read, Mask.key_padding(readable))
        p = self.by_word(read, src[:, None, :, None])[:, 0]  # [B 1 V]
        return Prediction(p.clamp(min=FLOOR).log(), torch.ones_like(p[..., 0], dtype=torch.bool))

    def validation_error(self, source: Sequence[int]) -> str | None:
        return story_error(source)

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.ones_like(n_source)

    def _read(
        self,
        story: Float[Tensor, "B S H"],
        question: Float[Tensor, "B Q H"],
        readable: Bool[Tensor, "B S"],
        words: Bool[Tensor, "B Q"],
    ) -> Float[Tensor, "B S"]:
        """Compute s, which sums to 1, or to 0 where story or question has no words."""
        if self.attention == "over":
            return attention_over_attention(story, question, Mask.key_padding(readable), Mask.key_padding(words))
        half = question.shape[-1] // 2
        last = (words.sum(dim=1) - 1).clamp(min=0)
        forward = question[torch.arange(len(last), device=last.device), last, :half]
        summary = torch.cat([forward, question[:, 0, half:]], dim=-1)
        return softmax(dot(summary[:, None, None], story[:, None]), Mask.key_padding(readable))[:, 0, 0]
