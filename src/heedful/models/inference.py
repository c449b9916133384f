"""A model made ready for search: the same function, its linear maps prepared in one precision.

Knows no kind of model: it replaces what is an `nn.Linear`, and the matrix before the softmax.
"""

from copy import deepcopy
from itertools import chain
from typing import TypeVar, final

from torch import nn

from heedful.errors import ConfigError
from heedful.layers.product import Precision, inference_map
from heedful.models.interface import Model, Seq2Seq

ModelT = TypeVar("ModelT", bound=Model)


def for_inference(model: ModelT, precision: Precision) -> ModelT:
    """A copy in eval mode that shares everything but its linear maps; the model stays as it is.

    float32 keeps the function, but for rounding. bfloat16 and int8 are for the operands of the linear maps: attention,
    norms, residuals and sums stay as they are, and so, with bfloat16, does the product before the softmax, since
    logits of 8 bits would tie. The copy holds the weights as they were: make it anew when they change. Raises
    ConfigError where the machine lacks a precision.

    A model without parameters here, such as one inside another engine, is what it is, in that engine's precision.
    """
    if next(model.parameters(), None) is None:
        if precision != "float32":
            hint = "Leave it out: an export has the precision that it was made with."
            raise ConfigError(f'search.precision = "{precision}", but this engine has its own.', hint=hint)
        return model
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    ready = deepcopy(model, shared).eval()
    for module in list(ready.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Linear:
                setattr(module, name, inference_map(child.weight, child.bias, precision))
        if isinstance(module, Seq2Seq):
            module.prepare_readout("float32" if precision == "bfloat16" else precision)
    return ready


@final
class Prepared:
    """What `for_inference` made of a model, kept until its weights change.

    They are taken to have changed when the model is found in training mode, elsewhere, or written since. Fused
    optimisers write without being counted by torch: after training in eval mode with one, make a new `Prepared`.
    """

    def __init__(self, model: Model, precision: Precision) -> None:
        self.model = model
        self.precision: Precision = precision
        self._made_from: list[tuple[int, int]] | None = None
        self._ready = model

    def ready(self) -> Model:
        """The copy for the weights as they are now; the model itself is put into eval mode."""
        now = None if self.model.training else _state_of(self.model)
        if now is None or now != self._made_from:
            self.model.eval()
            self._ready, self._made_from = for_inference(self.model, self.precision), _state_of(self.model)
        return self._ready


def _state_of(model: nn.Module) -> list[tuple[int, int]] | None:
    """Where the weights are and how often they were written; None where torch does not count that."""
    parameters = list(model.parameters())
    if any(parameter.is_inference() for parameter in parameters):
        return None
    return [(parameter.data_ptr(), parameter._version) for parameter in parameters]
