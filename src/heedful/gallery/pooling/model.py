"""The classifier of the core with the gallery's encoders and poolings. Knows no label as text."""

from heedful.gallery.pooling.config import PoolingConfig
from heedful.gallery.pooling.directional import DirectionalEncoder
from heedful.gallery.pooling.poolings import KeywordPooling, PositionPooling, SourceToTokenPooling, StructuredPooling
from heedful.gallery.pooling.query_pooling import HardPooling, PoolingQuery, QueryPooling
from heedful.models.classifier import Classifier, assemble, build_encoder, build_pooling
from heedful.models.encoders import Encoder
from heedful.models.poolings import SentencePooling


def build_pooling_classifier(config: PoolingConfig, source_size: int, target_size: int) -> Classifier:
    """Build the network of these settings."""
    return assemble(config, source_size, target_size, _encoder, _pooling)


def _encoder(config: PoolingConfig) -> Encoder | None:
    match config.encoder:
        case "disan" | "disan-scalar":
            weighing = "features" if config.encoder == "disan" else "words"
            return DirectionalEncoder(config.d_model, weighing, config.max_scores, config.dropout)
        case _:
            return build_encoder(config)


def _pooling(config: PoolingConfig, width: int) -> SentencePooling:
    match config.pooling:
        case "structured":
            return StructuredPooling(width, config.d_attention, config.rows, config.overlap_weight)
        case "keywords":
            return KeywordPooling(width, config.d_attention, config.n_words)
        case "first-n":
            return PositionPooling(width, config.n_words, "first")
        case "random-n":
            return PositionPooling(width, config.n_words, "random")
        case "source2token":
            return SourceToTokenPooling(width)
        case "attention" | "hard":
            return _one_query(config, width)
        case _:
            return build_pooling(config, width)


def _one_query(config: PoolingConfig, width: int) -> QueryPooling:
    asking = PoolingQuery(width, config.d_attention, config.query)
    read = width if config.reads == "encoded" else config.d_model
    if config.pooling == "attention":
        return QueryPooling(asking, read, config.reads)
    return HardPooling(
        asking,
        read,
        config.reads,
        test_policy=config.test_policy,
        expected_share=config.expected_share,
        entropy_weight=config.entropy_weight,
        reward_baseline=config.reward_baseline,
    )
