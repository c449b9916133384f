"""Settings of the models that read a story and answer a question about it. Knows no torch."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from heedful.data.store import PairStore
from heedful.events import Report
from heedful.gallery.reading.unanswerable import report_absent
from heedful.models.config import Count, EncoderOnlyConfig, Labels, Probability, check_directions
from heedful.text.config import TokenizerConfig


class ReaderConfig(EncoderOnlyConfig):
    """Two recurrent networks read story and question; the answer is the word of the story that is read most.

    `attention` has no default: "over" weights what each question word reads by attention over attention [Cui 2017],
    "sum" reads once, with the last state of the question [Kadlec 2016].
    """

    labels: ClassVar[Labels | None] = "source"
    one_vocabulary: ClassVar[bool] = True

    kind: Literal["reader"] = "reader"  # pyright: ignore[reportIncompatibleVariableOverride]
    attention: Literal["over", "sum"] = Field(description="how the question reads the story: over | sum")
    d_model: Count = Field(default=128, description="width of the embeddings, which story and question share")
    d_hidden: Count = Field(default=128, description="width of the states; each of two directions has half of it")
    dropout: Probability = Field(default=0.1, description="on embeddings")

    @model_validator(mode="after")
    def _directions_fit(self) -> "ReaderConfig":
        check_directions(self.d_hidden)
        return self

    def check_recipe(self, tokenizer: TokenizerConfig, label_smoothing: float) -> None:
        """Raise ValueError unless both sides have one vocabulary of words, and nothing is smoothed."""
        if not tokenizer.joint or tokenizer.source.kind != "words":
            raise ValueError(
                f'`model.kind` = "{self.kind}" answers with a word of the source, so both sides need one '
                'vocabulary of words: set tokenizer.joint = true and tokenizer.source.kind = "words"'
            )
        if label_smoothing:
            raise ValueError(
                "`training.label_smoothing` gives probability to every word, but a word that the source lacks can have "
                f'none with model.kind = "{self.kind}": set it to 0'
            )

    def check_pairs(self, split: str, store: PairStore, report: Report) -> None:
        """Report answers that no story holds; raise ConfigError where none does."""
        report_absent(split, store, report)

    @property
    def reads_parts(self) -> bool:
        """A story and a question."""
        return True

    @property
    def summary(self) -> str:
        """The kind, and how it attends."""
        return f"{self.kind}, attention {self.attention}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 8 vectors of d_hidden and 2 of d_model a token, and four tables of a story
        and its short question.
        """
        return source * (8 * self.d_hidden + 2 * self.d_model + 4 * min(source, 32))


class MemoryConfig(EncoderOnlyConfig):
    """The sentences of a story as memories, read in hops; the answer is any word. [Sukhbaatar 2015; Miller 2016]

    `n_hops` = 0 is the baseline: the mean of all memories. `update` is that of `heedful.gallery.layers.memory.Hops`.
    """

    labels: ClassVar[Labels | None] = "source"

    kind: Literal["memory"] = "memory"  # pyright: ignore[reportIncompatibleVariableOverride]
    d_model: Count = Field(default=20, description="width of everything: words, sentences, question")
    n_hops: Annotated[int, Field(ge=0)] = Field(default=3, description="readings of the memory; 0: its mean")
    update: Literal["add", "add-linear", "concat-linear"] = Field(
        default="add", description="of the question after a hop: u + o, R (u + o) or W [u; o]"
    )
    encoding: Literal["bag", "position"] = Field(
        default="position", description="words to a sentence: their sum, or one weighted by their positions"
    )
    sharing: Literal["adjacent", "layer-wise"] = Field(
        default="adjacent", description="what hops share: a hop's values are the next one's keys, or all have the same"
    )
    values: Literal["same", "last-word"] = Field(
        default="same", description="what a hop reads: the sentence; last-word: key is the sentence, value that word"
    )
    temporal: bool = Field(default=True, description="memories also say how long ago their sentence was")
    empty_slots: Probability = Field(
        default=0.0, description="temporal, training only: beside each sentence an empty slot with this probability"
    )
    max_memories: Count = Field(default=50, description="only so many last sentences of a story are memories")
    dropout: Probability = Field(default=0.0, description="on what predicts the answer")

    @model_validator(mode="after")
    def _nothing_is_idle(self) -> "MemoryConfig":
        if self.n_hops == 0:
            for name, usual in (("update", "add"), ("sharing", "adjacent"), ("values", "same")):
                if getattr(self, name) != usual:
                    raise ValueError(f"`{name}` is of hops, but `n_hops` is 0: leave it out")
        if self.empty_slots and not self.temporal:
            raise ValueError("`empty_slots` moves memories in time, but `temporal` is false: leave it out")
        return self

    @property
    def reads_parts(self) -> bool:
        """A story and a question."""
        return True

    @property
    def summary(self) -> str:
        """The kind, and its hops."""
        return f"{self.kind}, {self.n_hops} hops, {self.update}"

    def activation_count(self, source: int, target: int) -> int:
        """Estimate the activations: about 3 vectors a token for each table of embeddings that a sentence is read by."""
        return (self.n_hops + 1) * source * 3 * self.d_model
