"""A model made ready for search: the same function, its linear maps prepared once in one precision.

Knows no kind of model: it replaces what is an `nn.Linear`; a model itself says what its output layer is made of.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from itertools import chain
from typing import Generic, NamedTuple, TypeVar, final

from torch import nn

from heedful.errors import ConfigError
from heedful.layers.inference_linear import Precision, Readout, inference_map
from heedful.models.interface import Model, Seq2Seq

ModelT = TypeVar("ModelT", bound=Model)
ReadyT = TypeVar("ReadyT")


def for_inference(model: ModelT, precision: Precision) -> ModelT:
    """Copy a model in eval mode; the copy shares everything but its linear maps, and the model stays as it is.

    float32 keeps the function, but for rounding. bfloat16 and int8 are for the operands of the linear maps: attention,
    norms, residuals and sums stay as they are. The copy holds the weights as they were: make it anew when they change.
    Raises ConfigError where the machine lacks a precision.

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
    return ready


class SearchableModel(NamedTuple):
    """A decoder's copy for inference, and its output layer."""

    model: Seq2Seq
    readout: Readout


def searchable(model: Seq2Seq, precision: Precision) -> SearchableModel:
    """Prepare a model with a decoder for search.

    With bfloat16 the output layer stays in float32, since logits of 8 bits would tie.
    """
    of_output = "float32" if precision == "bfloat16" else precision
    return SearchableModel(for_inference(model, precision), model.readout(partial(inference_map, precision=of_output)))


@final
class PreparedCopies(Generic[ModelT, ReadyT]):
    """Copies of a model that `prepare` made, one per precision, kept until the weights change.

    They are taken to have changed when the model is found in training mode, elsewhere, or written since. Fused
    optimisers write without being counted by torch: after training in eval mode with one, make a new `PreparedCopies`.
    """

    def __init__(self, model: ModelT, prepare: Callable[[ModelT, Precision], ReadyT]) -> None:
        self.model, self._prepare = model, prepare
        self._made_from: list[tuple[int, int]] | None = None
        self._ready: dict[Precision, ReadyT] = {}

    def ready(self, precision: Precision) -> ReadyT:
        """Return what was made of the weights as they are now; the model itself is put into eval mode."""
        now = None if self.model.training else _state_of(self.model)
        if now is None or now != self._made_from:
            self.model.eval()
            self._ready, self._made_from = {}, _state_of(self.model)
        if precision not in self._ready:
            self._ready[precision] = self._prepare(self.model, precision)
        return self._ready[precision]


def _state_of(model: nn.Module) -> list[tuple[int, int]] | None:
    """Return the address and version of each weight; None where torch counts no versions."""
    parameters = list(model.parameters())
    if any(parameter.is_inference() for parameter in parameters):
        return None
    return [(parameter.data_ptr(), parameter._version) for parameter in parameters]
