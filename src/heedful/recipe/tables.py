"""What a recipe can name: the kinds of models and the synthetic tasks, those of the core and those of the gallery.

Imports no torch: a network is imported when a model is built.
"""

from typing import TYPE_CHECKING, Any

from heedful.datasets.synthetic_tasks import CORE_TASKS
from heedful.gallery.tables import GALLERY_KINDS, GALLERY_TASKS
from heedful.models.config import ModelConfig
from heedful.models.kinds import CORE_KINDS, Kinds

KINDS: Kinds = Kinds([*CORE_KINDS, *GALLERY_KINDS])
build_model = KINDS.build
TASKS = {**CORE_TASKS, **GALLERY_TASKS}

if TYPE_CHECKING:
    AnyModelConfig = ModelConfig
else:
    AnyModelConfig: Any = KINDS.annotation
