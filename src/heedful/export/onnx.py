"""A bundle as ONNX: `encoder.onnx` and `step.onnx`, which share the weights of `weights.safetensors` beside them.

Any runtime for opset 17 reads them; `heedful.export.onnx_transformer` says what goes in and out. Each matrix is kept
once, in the layout of the bundle, however many places of either graph read it. With int8 each graph holds its own
quantised matrices instead.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import heedful
from heedful.config import Layer, resolve
from heedful.export.onnx_graph import weights_in
from heedful.export.onnx_runner import ENCODER, STEP, open_export, tokenizers_fact
from heedful.export.onnx_transformer import encoder_graph, step_graph
from heedful.export.optional_packages import package
from heedful.export.parity import FLOAT32, Tolerance
from heedful.models.bundle import Bundle
from heedful.models.interface import Seq2Seq
from heedful.models.transformer_config import TransformerConfig
from heedful.models.weights import weights_of, write_tensors
from heedful.tasks.table import task_of
from heedful.text.tokenizer import Tokenizers
from heedful.text.vocabulary import BOS, EOS, PAD, UNK

__all__ = ["POSITIONS", "SEARCH_LACKS", "TOLERANCES", "computes_in", "export", "open_export", "refusals"]

WEIGHTS = "weights.safetensors"

TOLERANCES: dict[str, Tolerance] = {
    "float32": FLOAT32,
    "int8": Tolerance(equal_texts=0.75, log_p=0.5),  # trained models had 0.85 to 1.0, and differences up to 0.25
}

POSITIONS = ("sinusoidal", "t2t", "learned", "relative", "t5", "rotary", "alibi", "none")
SEARCH_LACKS = ("shortlist",)


def refusals(config: TransformerConfig, tokenizers: Tokenizers) -> list[str]:
    """List what ONNX cannot express of a model but its positions: nothing, of the models that there are."""
    return []


def computes_in(precision: str) -> bool:
    """Return whether a precision exists; all of them run."""
    return True


def export(bundle: Bundle, folder: Path, precision: str) -> None:
    """Write both graphs and their weights into an existing folder.

    "int8" is onnxruntime's dynamic quantisation: weights are rounded once, an output channel at a time, and inputs of
    the products when they are there, so that a line's result may depend on the others of its batch.
    """
    onnx: Any = package("onnx")
    config: TransformerConfig = resolve(TransformerConfig, [Layer("the model", bundle.recipe["model"])]).config
    write_graphs(task_of(bundle.model).decoder_of(bundle.model, "ONNX"), config, folder, _facts(bundle, config))
    if precision == "int8":
        _quantise(folder / ENCODER)
        _quantise(folder / STEP)
        (folder / WEIGHTS).unlink()
    for name in (ENCODER, STEP):
        onnx.checker.check_model(folder / name, full_check=True)


def write_graphs(model: Seq2Seq, config: TransformerConfig, folder: Path, facts: Mapping[str, str]) -> None:
    """Write both graphs in float32 and their weights; `facts` become the metadata of both."""
    onnx: Any = package("onnx")
    write_tensors(folder / WEIGHTS, {name: tensor.float() for name, tensor in weights_of(model).items()})
    weights = weights_in(folder / WEIGHTS)
    for name, graph in ((ENCODER, encoder_graph), (STEP, step_graph)):
        onnx.save(graph(config, weights, WEIGHTS, facts), folder / name)


def _facts(bundle: Bundle, config: TransformerConfig) -> dict[str, str]:
    """Collect the metadata of the graphs, which a runner must know; all metadata of ONNX are strings."""
    longest = bundle.model.longest
    return {
        "heedful": heedful.__version__,
        "tokenizers": tokenizers_fact(bundle.tokenizers),
        "model": config.model_dump_json(),
        "ids": json.dumps({"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS}),
        **({} if longest is None else {"longest": str(longest)}),
    }


def _quantise(path: Path) -> None:
    """Put a graph with int8 weights, which it holds itself, in the place of one with float32 ones.

    A matrix that is both looked up and multiplied with is made two first: onnxruntime up to 1.28 turns it for the
    product, and then looks up columns for rows.
    """
    onnx: Any = package("onnx")
    quantization: Any = package("onnxruntime.quantization")
    model = onnx.load(path)
    looked_up = {node.input[0] for node in model.graph.node if node.op_type == "Gather"}
    matrices = {tensor.name: tensor for tensor in model.graph.initializer if tensor.name in looked_up}
    for node in model.graph.node:
        if node.op_type == "Gemm" and node.input[1] in matrices:
            copy = model.graph.initializer.add()
            copy.CopyFrom(matrices[node.input[1]])
            node.input[1] = copy.name = f"{node.name}.weight"
    # Unsigned: on processors without VNNI the products of unsigned inputs with signed weights overflow 16 bits.
    unsigned = quantization.QuantType.QUInt8
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # it advises a step that folds constants and infers shapes: there are none to fold
    try:
        quantization.quantize_dynamic(model, path, per_channel=True, weight_type=unsigned)
    finally:
        root.setLevel(level)
