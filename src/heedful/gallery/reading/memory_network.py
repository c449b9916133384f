"""End-to-end and key-value memory networks: the sentences of a story, read in hops for the answer to a question.

Knows no text and no loss. B stories, S tokens of story and question with the EOS of each sentence, M memories, the
youngest first, W words of the longest sentence, D d_model, V target vocabulary.
"""

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.attention import KeyValue, Mask
from heedful.gallery.layers.memory import Hops
from heedful.gallery.layers.source_parts import parts_of, story_error
from heedful.gallery.reading.config import MemoryConfig
from heedful.layers.dropout import Dropout
from heedful.layers.embedding import Embedding
from heedful.layers.masked_pooling import masked_mean
from heedful.models.interface import EncoderOnly, Prediction
from heedful.models.recording import is_recording, record


class Sentences(NamedTuple):
    """Sentences as words, each for itself."""

    words: Int[Tensor, "B M W"]
    real: Bool[Tensor, "B M W"]  # True at words

    @property
    def filled(self) -> Bool[Tensor, "B M"]:
        """Mask of the sentences that have words."""
        return self.real.any(dim=-1)

    def last_words(self) -> "Sentences":
        """Return the last word of each as a sentence of its own."""
        last = (self.real.sum(dim=-1, keepdim=True) - 1).clamp(min=0)
        return Sentences(self.words.gather(-1, last), self.filled[..., None])


class Story(NamedTuple):
    """Memories, the youngest sentence first, and the question."""

    sentences: Sentences  # [B M W]
    ends: Int[Tensor, "B M"]  # where in the source the EOS of each stands
    question: Sentences  # [B 1 W]


@final
class MemoryNetwork(EncoderOnly):
    """softmax(W u), u the question after K hops over memories m_i and c_i. [Sukhbaatar 2015, 2; Miller 2016, 3]

    m_i = sum_j l_j A x_ij + T_A(i), c_i the same by C and T_C, u = sum_j l_j B q_j at first. `sharing` "adjacent": A of
    a hop is C of the hop before, and B the first A; "layer-wise": one A, one C, one B. [Sukhbaatar 2015, 2.2] There W
    is the last C or a matrix of its own, and the layer-wise way has a linear map H; here W is always its own, for the
    answers are a vocabulary of their own, and `update` says which map there is. `values` "last-word": the sentence is
    the key, and c_i is made of its last word alone. [Miller 2016, 3.1]

    Which slots hold a sentence is told by a mask, never by a score that happens to be 0. Without hops u is the question
    plus the mean of all m_i.
    """

    def __init__(self, config: MemoryConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        own_question = config.sharing == "layer-wise"
        n_tables = 2 if own_question else config.n_hops + 1
        self.embed, self.times = (
            nn.ModuleList(Embedding(size, config.d_model, scaled=False) for _ in range(count))
            for size, count in ((source_size, n_tables), (config.max_memories, n_tables * config.temporal))
        )
        self.embed_question = Embedding(source_size, config.d_model, scaled=False) if own_question else self.embed[0]
        self.hops = Hops(config.d_model, config.n_hops, config.update)
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(config.d_model, target_size, bias=False)

    def predict(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Prediction:
        story = story_of(src, src_mask, self.config.max_memories)
        sentences, ages = story.sentences, self._ages(story.sentences)
        query = self._encoded(self.embed_question, story.question)[:, None]  # [B 1 1 D]
        if self.config.n_hops == 0:
            query = query + masked_mean(self._remembered(0, sentences, ages), sentences.filled)[:, None, None]
        read = self.hops(query, self._memories(sentences, ages), Mask.key_padding(sentences.filled))
        for number, hop in enumerate(read.hops):
            if is_recording() and hop.weights is not None:
                weights, ends = (_at_ends(w, story, src.shape[1]) for w in (hop.weights[:, 0, 0], sentences.filled))
                record(f"reader.{number}.read", weights[:, None, None], Mask.key_padding(ends > 0))
        logits = self.output(self.dropout(read.query[:, 0]))  # [B 1 V]
        return Prediction(logits, torch.ones_like(logits[..., 0], dtype=torch.bool))

    def validation_error(self, source: Sequence[int]) -> str | None:
        return story_error(source)

    def output_lengths(self, n_source: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.ones_like(n_source)

    def _ages(self, sentences: Sentences) -> Int[Tensor, "B M"]:
        """Return the age of each sentence, from 0; in training there are random empty slots between. [Sukhbaatar 2015,
        4.1, random noise]
        """
        batch, slots = sentences.words.shape[:2]
        ages = torch.arange(slots, device=sentences.words.device).expand(batch, -1)
        if self.training and self.config.empty_slots:
            empty = torch.rand(ages.shape, device=ages.device) < self.config.empty_slots
            ages = ages + empty.cumsum(dim=1)
        return ages.clamp(max=self.config.max_memories - 1)

    def _memories(self, sentences: Sentences, ages: Int[Tensor, "B M"]) -> list[KeyValue]:
        """Compute m_i and c_i, [B 1 M D], for each hop; once where all hops share them."""
        last = len(self.embed) - 1
        keys = [self._remembered(number, sentences, ages) for number in range(last)]
        if self.config.values == "last-word":
            words = sentences.last_words()
            values = [self._remembered(number + 1, words, ages) for number in range(last)]
        else:
            values = [*keys[1:], self._remembered(last, sentences, ages)]
        return [KeyValue(key[:, None], value[:, None]) for key, value in zip(keys, values, strict=False)]

    def _remembered(self, number: int, sentences: Sentences, ages: Int[Tensor, "B M"]) -> Float[Tensor, "B M D"]:
        """Encode the sentences by one of the tables, with their age."""
        encoded = self._encoded(self.embed[number], sentences)
        return encoded + self.times[number](ages) if self.config.temporal else encoded

    def _encoded(self, table: nn.Module, sentences: Sentences) -> Float[Tensor, "B M D"]:
        weights = sentences.real[..., None]
        if self.config.encoding == "position":
            weights = position_weights(sentences.real, self.config.d_model)
        return (table(sentences.words) * weights).sum(dim=2)


def story_of(src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"], max_memories: int) -> Story:
    """Split a source: the question is its last part; the `max_memories` sentences before it are the memories."""
    parts = parts_of(src, src_mask)
    rows = torch.arange(len(src), device=src.device)[:, None]
    asked = parts.real.sum(dim=1, keepdim=True) - 1  # [B 1]
    n_slots = max(1, min(max_memories, parts.positions.shape[1] - 1))
    number = asked - 1 - torch.arange(n_slots, device=src.device)  # [B M]; below 0 there is no sentence
    there, number = number >= 0, number.clamp(min=0)

    def words(positions: Int[Tensor, "B M W"]) -> Int[Tensor, "B M W"]:
        return src[rows[..., None], positions]

    sentences = Sentences(words(parts.positions[rows, number]), parts.mask[rows, number] & there[..., None])
    question = Sentences(words(parts.positions[rows, asked]), parts.mask[rows, asked])
    return Story(sentences, parts.ends[rows, number], question)


def position_weights(real: Bool[Tensor, "B M W"], width: int) -> Float[Tensor, "B M W D"]:
    """Compute l_kj = (1 - j / J) - (k / d)(1 - 2 j / J), j the position of a word among J, k the feature among d, both
    from 1; 0 where there is no word. [Sukhbaatar 2015, 4.1]
    """
    position = torch.arange(1, real.shape[-1] + 1, device=real.device) / real.sum(dim=-1, keepdim=True).clamp(min=1)
    position = position[..., None]  # j / J  [B M W 1]
    feature = torch.arange(1, width + 1, device=real.device) / width
    return ((1 - position) - feature * (1 - 2 * position)) * real[..., None]


def _at_ends(of_slots: Shaped[Tensor, "B M"], story: Story, length: int) -> Float[Tensor, "B S"]:
    """Lay values of memories at the EOS of their sentences; 0 elsewhere."""
    filled = of_slots * story.sentences.filled
    return torch.zeros(len(filled), length, device=filled.device).scatter_add(1, story.ends, filled.float())
