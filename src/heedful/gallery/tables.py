"""What the gallery adds to the tables that a recipe can name: kinds of models and synthetic tasks. Imports no torch."""

from heedful.datasets.synthetic import SyntheticTask
from heedful.gallery.coupled.config import CoupledConfig
from heedful.gallery.coupled.task import Reviews
from heedful.gallery.esim.config import InferenceConfig
from heedful.gallery.esim.task import Inference
from heedful.gallery.hierarchical.config import HierarchicalConfig
from heedful.gallery.hierarchical.task import Documents
from heedful.gallery.pooling.config import PoolingConfig
from heedful.gallery.pooling.task import Cued, KeywordTask
from heedful.gallery.reading.config import MemoryConfig, ReaderConfig
from heedful.gallery.top_k.task import Recall
from heedful.models.kinds import ModelKind

GALLERY_KINDS = (
    ModelKind(
        PoolingConfig,
        "heedful.gallery.pooling.model:build_pooling_classifier",
        formerly="classifier",
        renamed={"baseline.value": "pooling.baseline.value"},
    ),
    ModelKind(HierarchicalConfig, "heedful.gallery.hierarchical.model:Hierarchical"),
    ModelKind(InferenceConfig, "heedful.gallery.esim.model:ESIM"),
    ModelKind(CoupledConfig, "heedful.gallery.coupled.model:Coupled"),
    ModelKind(ReaderConfig, "heedful.gallery.reading.reader:StoryReader"),
    ModelKind(MemoryConfig, "heedful.gallery.reading.memory_network:MemoryNetwork"),
)
GALLERY_TASKS: dict[str, SyntheticTask] = {
    task.name: task for task in (Documents(), Inference(), KeywordTask(), Cued(), Recall(), Reviews())
}
