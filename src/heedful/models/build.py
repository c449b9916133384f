"""From a configuration to a model: the one table of kinds."""

from heedful.models.classifier import Classifier
from heedful.models.classifier_config import ClassifierConfig
from heedful.models.config import ConvS2SConfig, ModelConfig, RNNConfig, TransformerConfig
from heedful.models.convs2s import ConvS2S
from heedful.models.coupled import Coupled
from heedful.models.coupled_config import CoupledConfig
from heedful.models.ctc import CTC
from heedful.models.ctc_config import CTCConfig
from heedful.models.esim import ESIM
from heedful.models.esim_config import InferenceConfig
from heedful.models.hierarchical import Hierarchical
from heedful.models.hierarchical_config import HierarchicalConfig
from heedful.models.interface import Model
from heedful.models.memory_network import MemoryNetwork
from heedful.models.reader import Reader
from heedful.models.reading_config import MemoryConfig, ReaderConfig
from heedful.models.rnn import RNN
from heedful.models.tagger import Tagger
from heedful.models.tagger_config import TaggerConfig
from heedful.models.transformer import Transformer


def build_model(config: ModelConfig, source_size: int, target_size: int) -> Model:
    """A freshly initialised model for vocabularies of these sizes; torch's global generator decides its weights."""
    match config:
        case TransformerConfig():
            return Transformer(config, source_size, target_size)
        case RNNConfig():
            return RNN(config, source_size, target_size)
        case ConvS2SConfig():
            return ConvS2S(config, source_size, target_size)
        case TaggerConfig():
            return Tagger(config, source_size, target_size)
        case CTCConfig():
            return CTC(config, source_size, target_size)
        case ClassifierConfig():
            return Classifier(config, source_size, target_size)
        case HierarchicalConfig():
            return Hierarchical(config, source_size, target_size)
        case InferenceConfig():
            return ESIM(config, source_size, target_size)
        case CoupledConfig():
            return Coupled(config, source_size, target_size)
        case ReaderConfig():
            return Reader(config, source_size, target_size)
        case MemoryConfig():
            return MemoryNetwork(config, source_size, target_size)
        case _:
            raise TypeError(f"`config` must be that of a known kind, but is of {config.kind!r}.")


def count_parameters(model: Model) -> int:
    """Trainable numbers; a shared matrix counts once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
