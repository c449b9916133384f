"""An ONNX graph as it is built: named nodes, constants, and weights that stay in a file beside it.

Knows the format, and no model.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

OPSET = 17  # the first with LayerNormalization; a later one would shut out older runtimes and give nothing
IR_VERSION = 8  # that of opset 17
NUMBERS = {"F32": 1}  # safetensors' name of a precision: ONNX's


class Port(NamedTuple):
    """An input or output of a graph; an axis that is not an int is a letter and may have any length."""

    name: str
    dtype: type[np.generic]
    shape: Sequence[int | str]


class Weight(NamedTuple):
    """Location of one tensor in a safetensors file: its ONNX precision, its shape, and its first byte and length."""

    number: int
    shape: list[int]
    offset: int
    length: int


def weights_in(path: Path) -> dict[str, Weight]:
    """Locate the tensors of a safetensors file by name: 8 bytes hold the length of a JSON header, the numbers follow
    it.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        found[name] = Weight(NUMBERS[entry["dtype"]], entry["shape"], 8 + size + start, end - start)
    return found


@final
class Graph:
    """Collects nodes in the order in which they run. A node is known by the name of its first output.

    `weights` are the tensors of `file`, which will lie beside the graph; only those that a node reads are declared.
    """

    def __init__(self, name: str, weights: Mapping[str, Weight], file: str) -> None:
        self.name = name
        self._weights = weights
        self._file = file
        self._nodes: list[Any] = []
        self._initializers: dict[str, Any] = {}

    def has_weight(self, name: str) -> bool:
        """Return whether there is a tensor of this name."""
        return name in self._weights

    def add(
        self,
        name: str,
        op: str,
        inputs: Sequence[str],
        attributes: Mapping[str, int | float | str | list[int]] | None = None,
    ) -> str:
        """Add a node with one output; return its name, for those who read it."""
        from onnx import helper

        for read in inputs:
            if read in self._weights and read not in self._initializers:
                self._initializers[read] = self._external(read)
        node = helper.make_node(op, inputs, [name], name=name)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in (attributes or {}).items())
        self._nodes.append(node)
        return name

    def cast(self, name: str, x: str, dtype: type[np.generic]) -> str:
        """Convert numbers to another type."""
        return self.add(name, "Cast", [x], {"to": _onnx_type(dtype)})

    def join(self, name: str, parts: Sequence[str]) -> str:
        """Concatenate vectors, such as parts of a shape."""
        return self.add(name, "Concat", parts, {"axis": 0})

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        """Add a small constant tensor; the same name may be used again with the same value."""
        from onnx import numpy_helper

        tensor = numpy_helper.from_array(np.asarray(value), name)
        known = self._initializers.setdefault(name, tensor)
        assert known.raw_data == tensor.raw_data, f"two constants have the name {name}"
        return name

    def model(self, inputs: Sequence[Port], outputs: Sequence[Port], facts: Mapping[str, str]) -> Any:
        """Build the ONNX ModelProto of the whole; `facts` become its metadata."""
        from onnx import helper

        import heedful

        ports = [
            [helper.make_tensor_value_info(port.name, _onnx_type(port.dtype), port.shape) for port in side]
            for side in (inputs, outputs)
        ]
        graph = helper.make_graph(self._nodes, self.name, *ports, initializer=list(self._initializers.values()))
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="heedful",
            producer_version=heedful.__version__,
        )
        helper.set_model_props(model, dict(facts))
        return model

    def _external(self, name: str) -> Any:
        from onnx import TensorProto

        weight = self._weights[name]
        tensor = TensorProto(name=name, data_type=weight.number, dims=weight.shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", self._file), ("offset", weight.offset), ("length", weight.length)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor


def _onnx_type(dtype: type[np.generic]) -> int:
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
