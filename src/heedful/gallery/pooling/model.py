"""The classifier of the core with the gallery's encoders and poolings. Knows no label as text."""

from heedful.gallery.pooling.config import PoolingConfig
from heedful.gallery.pooling.directional import DirectionalEncoder
from heedful.gallery.pooling.one_query import Asking, HardReading, OneQuery
from heedful.gallery.pooling.poolings import Keywords, Places, SourceToTokenPooling, Structured
from heedful.layers.embedding import Embedding
from heedful.layers.mix import LayerMix
from heedful.models.classifier import Classifier
from heedful.models.encoders import Encoder, RecurrentEncoder, pre_norm_encoder
from heedful.models.poolings import Last, Max, Mean, SentencePooling


def build_pooling_classifier(config: PoolingConfig, source_size: int, target_size: int) -> Classifier:
    """Build the network of these settings."""
    embed = Embedding(source_size, config.d_model, scaled=True)
    encoder = build_encoder(config)
    mix = LayerMix(config.n_layers) if config.layer_mix else None
    pooling = build_pooling(config, config.d_model if encoder is None else encoder.width)
    return Classifier(embed, encoder, mix, pooling, target_size=target_size, dropout=config.dropout)


def build_encoder(config: PoolingConfig) -> Encoder | None:
    """What reads the words in their context; None reads each by itself."""
    match config.encoder:
        case "none":
            return None
        case "rnn":
            return RecurrentEncoder(
                config.d_model, config.d_hidden, config.cell, config.n_layers, dropout=config.dropout
            )
        case "transformer":
            return pre_norm_encoder(config.d_model, config.n_heads, config.n_layers, config.dropout)
        case "disan" | "disan-scalar":
            weighing = "features" if config.encoder == "disan" else "words"
            return DirectionalEncoder(config.d_model, weighing, config.max_scores, config.dropout)


def build_pooling(config: PoolingConfig, width: int) -> SentencePooling:
    """What makes one vector of a sentence whose words have vectors of this width."""
    match config.pooling:
        case "mean":
            return Mean(width)
        case "max":
            return Max(width)
        case "last":
            return Last(width, recurrent=config.encoder == "rnn")
        case "structured":
            return Structured(width, config.d_attention, config.rows, config.overlap_weight)
        case "keywords":
            return Keywords(width, config.d_attention, config.n_words)
        case "first-n":
            return Places(width, config.n_words, "first")
        case "random-n":
            return Places(width, config.n_words, "random")
        case "source2token":
            return SourceToTokenPooling(width)
        case "attention" | "hard":
            return _one_query(config, width)


def _one_query(config: PoolingConfig, width: int) -> OneQuery:
    asking = Asking(width, config.d_attention, config.query)
    read = width if config.reads == "encoded" else config.d_model
    if config.pooling == "attention":
        return OneQuery(asking, read, config.reads)
    return HardReading(
        asking,
        read,
        config.reads,
        test_policy=config.test_policy,
        expected_share=config.expected_share,
        entropy_weight=config.entropy_weight,
        reward_baseline=config.reward_baseline,
    )
