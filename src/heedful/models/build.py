"""From a configuration to a model: the one table of kinds."""

from heedful.models.config import ModelConfig
from heedful.models.interface import Seq2Seq
from heedful.models.transformer import Transformer

KINDS: dict[str, type[Transformer]] = {"transformer": Transformer}


def build_model(config: ModelConfig, source_size: int, target_size: int) -> Seq2Seq:
    """A freshly initialised model for vocabularies of these sizes; torch's global generator decides its weights."""
    return KINDS[config.kind](config, source_size, target_size)


def count_parameters(model: Seq2Seq) -> int:
    """Trainable numbers; a shared matrix counts once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
