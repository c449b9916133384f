"""Settings of the models: what all kinds have, and each kind's own."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from heedful.config import Config
from heedful.events import Report
from heedful.sections import only_with
from heedful.text.config import TokenizerConfig

if TYPE_CHECKING:
    from heedful.data.store import PairStore

Count = Annotated[int, Field(gt=0)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Tie = Literal["none", "decoder", "all"]
Labels = Literal["word", "source"]


def check_directions(d_hidden: int) -> None:
    """Raise ValueError for a width of states that two directions cannot share equally."""
    if d_hidden % 2:
        raise ValueError(f"`d_hidden` must be even, half for each direction, but is {d_hidden}")


def check_heads(d_model: int, n_heads: int) -> None:
    """Raise ValueError for a width that the heads cannot share equally."""
    if d_model % n_heads:
        raise ValueError(f"`n_heads` must divide `d_model` ({d_model}), but is {n_heads}")


class ModelConfig(Config, ABC):
    """What every model has, whatever its `kind`: `d_model`, the width of embeddings and of the vectors that predict;
    `dropout`; and what it may `tie`, with the meaning that `TransformerConfig` gives them.
    """

    task: ClassVar[str] = "sequence"
    """The form of the output: a row of `heedful.tasks.table`."""
    labels: ClassVar[Labels | None] = None
    """What has one label each: a word of the source, or the whole of it; None where targets have any length."""
    one_vocabulary: ClassVar[bool] = False
    """Whether labels are words of the source, so that both sides share one vocabulary."""
    limits: ClassVar[frozenset[str]] = frozenset()
    """Settings that only refuse what is larger: nothing of their size is built."""

    kind: str
    d_model: Count
    dropout: Probability
    tie: Tie

    @property
    @abstractmethod
    def summary(self) -> str:
        """The kind and its main choices, in a few words."""

    def check_recipe(self, tokenizer: TokenizerConfig, label_smoothing: float) -> None:
        """Raise ValueError for settings of other tables that do not go with this model."""

    def check_pairs(self, split: str, store: "PairStore", report: Report) -> None:
        """Report pairs from which the model can learn nothing; raise ConfigError where all are such."""

    @property
    def reads_parts(self) -> bool:
        """Whether it reads sources in parts, so that something must tell them apart."""
        return False

    @property
    def without_dropout(self) -> "ModelConfig":
        """The same model, without any noise in training."""
        return self.model_copy(update={name: 0.0 for name in type(self).model_fields if name.endswith("dropout")})

    @abstractmethod
    def activation_count(self, source: int, target: int) -> int:
        """An estimate of the numbers that the backward pass needs of a pair with so many tokens."""


class EncoderOnlyConfig(ModelConfig, ABC):
    """What every encoder-only model has: `d_model` and `dropout`, as all have, and one embedding, so that it has
    nothing to tie.
    """

    task: ClassVar[str] = "labels"

    tie: Literal["none"] = Field(default="none", description="there is one embedding only")  # pyright: ignore[reportIncompatibleVariableOverride]


class TransformerConfig(ModelConfig):
    """The Transformer of [Vaswani 2017, section 3], with every point at which good codebases differ named.

    `norm` and `activation` have no default: the paper's are "post" and "relu".
    """

    kind: Literal["transformer"] = "transformer"  # pyright: ignore[reportIncompatibleVariableOverride]
    d_model: Count = Field(default=512, description="width of every layer")
    n_heads: Count = Field(default=8, description="attention heads; must divide d_model unless d_k is given")
    d_k: Count | None = Field(
        default=None, description="width of a head's queries and keys; left out: d_model / n_heads"
    )
    d_v: Count | None = Field(default=None, description="width of a head's values; left out: d_model / n_heads")
    d_ff: Count = Field(default=2048, description="inner width of the feed-forward sublayer")
    n_encoder_layers: Count = 6
    n_decoder_layers: Count = 6
    norm: Literal["post", "pre"] = Field(
        description="post: LN(x + f(x)), the paper's; pre: x + f(LN(x)), with a final norm"
    )
    activation: Literal["relu", "gelu", "swish"] = Field(
        description="of the feed-forward sublayer; the paper's is relu"
    )
    norm_epsilon: Annotated[float, Field(gt=0)] = 1e-5
    attention_bias: bool = Field(default=False, description="biases in the attention projections; the paper has none")
    positions: Literal["sinusoidal", "t2t", "learned", "relative", "t5", "rotary", "alibi", "none"] = Field(
        default="sinusoidal",
        description="sinusoidal: the paper's; t2t: [sin | cos]; relative, t5, rotary, alibi: distances in attention",
    )
    max_positions: Count = Field(
        default=1024,
        description="learned: the longest sequence",
        json_schema_extra=only_with({"positions": ("learned",)}),
    )
    clip_distance: Count = Field(
        default=16,
        description="relative: k, the distance from which all count as one",
        json_schema_extra=only_with({"positions": ("relative",)}),
    )
    relative_values: bool = Field(
        default=False,
        description="relative: add a vector of each distance to values, too",
        json_schema_extra=only_with({"positions": ("relative",)}),
    )
    n_buckets: Annotated[int, Field(ge=4, multiple_of=2)] = Field(
        default=32, description="t5: buckets of distances", json_schema_extra=only_with({"positions": ("t5",)})
    )
    max_distance: Count = Field(
        default=128,
        description="t5: the distance from which all count as one",
        json_schema_extra=only_with({"positions": ("t5",)}),
    )
    scale_embedding: bool = Field(default=True, description="multiply embeddings by sqrt(d_model)")
    tie: Tie = Field(
        default="all", description="all: source, target and output share one matrix; decoder: target and output do"
    )
    output_bias: bool = Field(default=False, description="a bias on the logits; imported models have one")
    dropout: Probability = Field(default=0.1, description="on each sublayer's output, and on embedding + position")
    attention_dropout: Probability = Field(default=0.0, description="on attention weights; the paper has none")
    ffn_dropout: Probability = Field(default=0.0, description="inside the feed-forward sublayer; the paper has none")
    attention_top_k: Count | None = Field(
        default=None, description="each query of each head reads its k best keys only; left out: all (softmax)"
    )
    attention_window: Count | None = Field(
        default=None, description="r, of the encoder: token i reads token j where |i - j| <= r / 2; left out: all"
    )

    @model_validator(mode="after")
    def _heads_fit(self) -> "TransformerConfig":
        if self.d_k is None or self.d_v is None:
            check_heads(self.d_model, self.n_heads)
        return self

    @model_validator(mode="after")
    def _positions_fit(self) -> "TransformerConfig":
        if self.positions == "rotary" and self.head_key_width % 2:
            raise ValueError(
                f'`positions` = "rotary" turns columns in pairs, so `d_k` must be even, but is {self.head_key_width}'
            )
        if self.max_distance <= self.n_buckets // 2:
            raise ValueError(
                f"`max_distance` must be more than half of `n_buckets` ({self.n_buckets}), but is {self.max_distance}"
            )
        return self

    @property
    def head_key_width(self) -> int:
        """E, the width of one head's queries and keys."""
        return self.d_k or self.d_model // self.n_heads

    @property
    def head_value_width(self) -> int:
        """The width of one head's values."""
        return self.d_v or self.d_model // self.n_heads

    @property
    def encoder_radius(self) -> int | None:
        """How far the encoder's self-attention reaches to either side; None for any distance."""
        return None if self.attention_window is None else self.attention_window // 2

    @property
    def summary(self) -> str:
        """The kind, and where its norms stand."""
        return f"{self.kind}, {self.norm}-norm"

    def activation_count(self, source: int, target: int) -> int:
        """About 20 vectors of d_model and 3 of d_ff a token and layer, and 3 score tables a head (two attentions in a
        decoder).
        """
        vectors = 20 * self.d_model + 3 * self.d_ff
        encoder = self.n_encoder_layers * source * (vectors + 3 * self.n_heads * source)
        tables = 3 * self.n_heads * (target + source)
        return encoder + self.n_decoder_layers * target * (vectors * 3 // 2 + tables)


class RNNConfig(ModelConfig):
    """A recurrent encoder and decoder, with or without attention. [Sutskever 2014; Cho 2014; Bahdanau 2015; Luong 2015]

    `attention` has no default: "none" reads the source through one vector, "bahdanau" asks with the state before the
    step, "luong" with the one after it. Only "luong" has a `score`, a `window` and `input_feeding`.
    """

    kind: Literal["rnn"] = "rnn"  # pyright: ignore[reportIncompatibleVariableOverride]
    d_model: Count = Field(default=256, description="width of embeddings, and of what predicts the next token")
    d_hidden: Count = Field(default=256, description="width of the states; two directions have half of it each")
    cell: Literal["gru", "lstm"] = Field(default="gru", description="of both sides")
    n_encoder_layers: Count = 1
    n_decoder_layers: Count = 1
    bidirectional: bool = Field(default=True, description="read the source in both directions")
    attention: Literal["none", "bahdanau", "luong"] = Field(description="how each step reads the source")
    feedback: bool = Field(
        default=True,
        description="false, without attention only: the last word is not fed back",
        json_schema_extra=only_with({"attention": ("none",)}),
    )
    score: Literal["dot", "general", "concat", "location"] | None = Field(
        default=None, description="of luong; left out: general", json_schema_extra=only_with({"attention": ("luong",)})
    )
    window: Literal["local-m", "local-p"] | None = Field(
        default=None,
        description="of luong: read around the step's own position, or a predicted one; left out: all",
        json_schema_extra=only_with({"attention": ("luong",)}),
    )
    window_radius: Count = Field(
        default=10,
        description="D, of both windows: 2 D + 1 tokens",
        json_schema_extra=only_with({"window": ("local-m", "local-p")}),
    )
    input_feeding: bool = Field(
        default=False,
        description="luong: a step also sees the vector that predicted last",
        json_schema_extra=only_with({"attention": ("luong",)}),
    )
    max_positions: Count = Field(
        default=1024,
        description='score = "location": the longest sequence',
        json_schema_extra=only_with({"score": ("location",)}),
    )
    tie: Tie = Field(default="decoder", description="all: source, target and output share one matrix")
    dropout: Probability = Field(default=0.2, description="on embeddings, between layers, and on what predicts")

    @model_validator(mode="after")
    def _parts_fit(self) -> "RNNConfig":
        if self.bidirectional and self.d_hidden % 2:
            raise ValueError(f"`d_hidden` must be even where `bidirectional` is true, but is {self.d_hidden}")
        return self

    @property
    def longest(self) -> int | None:
        """The longest sequence that the score can read; None for any."""
        return self.max_positions if self.score == "location" else None

    @property
    def luong_score(self) -> Literal["dot", "general", "concat", "location"]:
        """The score of "luong": "general" where none is named."""
        return self.score or "general"

    @property
    def summary(self) -> str:
        """The cell, and how it attends."""
        return f"{self.kind} of {self.cell} cells, attention {self.attention}"

    def activation_count(self, source: int, target: int) -> int:
        """About 6 vectors of d_hidden a token and layer, and where there is attention, its tables."""
        width = 6 * self.d_hidden
        layers = self.n_encoder_layers * source + self.n_decoder_layers * target
        scored = self.attention == "bahdanau" or self.score == "concat"
        tables = target * source * (4 + 2 * self.d_hidden * scored) if self.attention != "none" else 0
        return layers * width + (source + target) * 6 * self.d_model + tables


class ConvS2SConfig(ModelConfig):
    """Convolutions with gates on both sides, and an attention in each layer of the decoder. [Gehring 2017]"""

    kind: Literal["convs2s"] = "convs2s"  # pyright: ignore[reportIncompatibleVariableOverride]
    d_model: Count = Field(default=256, description="width of embeddings, attention, and what predicts the next token")
    d_hidden: Count = Field(default=256, description="channels of the convolutions")
    kernel: Count = Field(default=3, description="width of the convolutions, in tokens; odd")
    n_encoder_layers: Count = 4
    n_decoder_layers: Count = 4
    attention_layers: Literal["all", "top"] = Field(
        default="all", description="decoder layers that attend: all of them, the paper's; or the uppermost alone"
    )
    max_positions: Count = Field(default=1024, description="learned positions: the longest sequence")
    tie: Tie = Field(default="decoder", description="all: source, target and output share one matrix")
    dropout: Probability = Field(default=0.1, description="on embeddings, and on the input of each convolution")

    @model_validator(mode="after")
    def _kernel_is_odd(self) -> "ConvS2SConfig":
        if self.kernel % 2 == 0:
            raise ValueError(f"`kernel` must be odd, so that a token is in the middle, but is {self.kernel}")
        return self

    @property
    def summary(self) -> str:
        """The kind and the width of its convolutions."""
        return f"{self.kind}, kernel {self.kernel}"

    def activation_count(self, source: int, target: int) -> int:
        """About 8 vectors of d_hidden a token and layer, and in the decoder 6 of d_model and 3 score tables."""
        encoder = self.n_encoder_layers * source * 8 * self.d_hidden
        return encoder + self.n_decoder_layers * target * (8 * self.d_hidden + 6 * self.d_model + 3 * source)
