"""The Transformer as two ONNX graphs: one reads the sources, the other takes one step of the output.

    encoder   src [B S], src_mask [B S]  ->  memory [B S D]; and for each decoder layer L, cross.L.key [B H S E] and
              cross.L.value [B H S Ev], which are the memory as the heads of that layer see it
    step      tokens [N], memory_mask [B S], cross.L.*, past.L.key [N H T E], past.L.value [N H T Ev]  ->
              logits [N V], present.L.key [N H T+1 E], present.L.value [N H T+1 Ev]

N = B * K: K consecutive rows read one memory. A token stands at position T, so before the first one T is 0. Knows no
text and no file format.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from heedful.export.onnx_graph import Graph, Port, Weight
from heedful.export.onnx_layers import Layers, Visible
from heedful.export.onnx_positions import RelativeNodes, with_positions
from heedful.models.transformer_config import TransformerConfig


class KeyValuePorts(NamedTuple):
    """Names and shapes of a layer's keys and values where they enter or leave a graph."""

    key: Port
    value: Port


def cross_ports(config: TransformerConfig) -> list[KeyValuePorts]:
    """List the ports of the memory as each decoder layer sees it: out of the encoder, into each step."""
    return _key_values(config, "cross", "B", "S")


def past_ports(config: TransformerConfig) -> list[KeyValuePorts]:
    """List the ports of keys and values of the tokens so far: into a step."""
    return _key_values(config, "past", "N", "T")


def present_ports(config: TransformerConfig) -> list[KeyValuePorts]:
    """List the same ports with those of the consumed token: out of a step."""
    return _key_values(config, "present", "N", "T+1")


def encoder_graph(config: TransformerConfig, weights: Mapping[str, Weight], file: str, facts: Mapping[str, str]) -> Any:
    """Build the ONNX model that reads sources; `file` holds the `weights`, `facts` become metadata."""
    graph = Graph("encoder", weights, file)
    layers = Layers(config, graph)
    visible = layers.visible("src_mask")
    shapes = _head_shapes(config, graph, graph.add("batch_length", "Shape", ["src"]))
    numbers = _source_numbers(graph)
    relative = RelativeNodes(config, graph, "encoder", numbers)
    x = _sources(config, layers, numbers)
    for number in range(config.n_encoder_layers):
        x = _encoder_layer(layers, f"encoder.{number}", x, shapes, visible, relative)
    x = layers.final_norm("encoder_norm", x)
    width = graph.constant("d_model", np.array([config.d_model]))
    graph.add("memory", "Reshape", [x, graph.join("memory_shape", ["batch_length", width])])
    crossed = cross_ports(config)
    for number, ports in enumerate(crossed):
        module = f"decoder.{number}.cross_attention"
        layers.project(f"{module}.project_key", x, shapes.key, ports.key.name)
        layers.project(f"{module}.project_value", x, shapes.value, ports.value.name)
    outputs = [Port("memory", np.float32, ["B", "S", config.d_model]), *chain(*crossed)]
    return graph.model([Port("src", np.int64, ["B", "S"]), Port("src_mask", np.bool_, ["B", "S"])], outputs, facts)


def step_graph(config: TransformerConfig, weights: Mapping[str, Weight], file: str, facts: Mapping[str, str]) -> Any:
    """Build the ONNX model that consumes one token a row; `file` holds the `weights`, `facts` become metadata."""
    graph = Graph("step", weights, file)
    layers = Layers(config, graph)
    visible = layers.visible("memory_mask")
    sentences = graph.add("sentences", "Shape", ["memory_mask"], {"start": 0, "end": 1})
    beams = graph.constant("all_beams", np.array([-1]))
    shapes = _head_shapes(config, graph, graph.join("sentences_beams", [sentences, beams]))
    crossed, past, present = cross_ports(config), past_ports(config), present_ports(config)
    position = graph.add("position", "Shape", [past[0].key.name], {"start": 2, "end": 3})
    relative = RelativeNodes(config, graph, "decoder", position)
    x = _tokens(config, layers, position)
    for number in range(config.n_decoder_layers):
        memories = _Memories(past[number], present[number], crossed[number])
        x = _decoder_layer(layers, f"decoder.{number}", x, memories, shapes.key, visible, relative)
    x = layers.final_norm("decoder_norm", x)
    output = "output.weight" if config.tie == "none" else "embed_target.weight"
    bias = ["output_bias"] if config.output_bias else []
    graph.add("logits", "Gemm", [x, output, *bias], {"transB": 1})
    size = weights[output].shape[0]
    inputs = [Port("tokens", np.int64, ["N"]), Port("memory_mask", np.bool_, ["B", "S"]), *chain(*crossed, *past)]
    return graph.model(inputs, [Port("logits", np.float32, ["N", size]), *chain(*present)], facts)


class _Shapes(NamedTuple):
    """The names of [B, L, H, E], for queries and keys, and of [B, L, H, Ev], for values."""

    key: str
    value: str


class _Memories(NamedTuple):
    """Inputs and outputs of one decoder layer."""

    past: KeyValuePorts
    present: KeyValuePorts
    cross: KeyValuePorts


def _encoder_layer(
    layers: Layers, module: str, x: str, shapes: _Shapes, visible: Visible, relative: RelativeNodes
) -> str:
    def attend_to_self(h: str) -> str:
        attention = f"{module}.self_attention"
        names = [f"{attention}.project_{what}" for what in ("query", "key")]
        query, key = (relative.rotate(name, layers.project(name, h, shapes.key)) for name in names)
        value = layers.project(f"{attention}.project_value", h, shapes.value)
        return layers.attend(attention, query, (key, value), visible, relative)

    x = layers.sublayer(f"{module}.self_sublayer", x, attend_to_self)
    return layers.sublayer(f"{module}.feed_sublayer", x, lambda h: layers.feed_forward(f"{module}.feed_forward", h))


def _decoder_layer(
    layers: Layers, module: str, x: str, memories: _Memories, shape: str, visible: Visible, relative: RelativeNodes
) -> str:
    """Add a decoder layer; `shape` is the name of [B, K, H, E]: the K beams of a sentence are K
    queries to one memory.
    """
    config, graph = layers.config, layers.graph

    def attend_to_self(h: str) -> str:
        attention = f"{module}.self_attention"
        names = [f"{attention}.project_{what}" for what in ("query", "key")]
        query, key = (relative.rotate(name, layers.project_one(name, h, config.head_key_width)) for name in names)
        value = layers.project_one(f"{attention}.project_value", h, config.head_value_width)
        written = [
            graph.add(after.name, "Concat", [before.name, now], {"axis": 2})
            for before, now, after in zip(memories.past, (key, value), memories.present, strict=True)
        ]
        return layers.attend(attention, query, (written[0], written[1]), relative=relative)

    def attend_to_memory(h: str) -> str:
        attention = f"{module}.cross_attention"
        query = layers.project(f"{attention}.project_query", h, shape)
        return layers.attend(attention, query, (memories.cross.key.name, memories.cross.value.name), visible)

    x = layers.sublayer(f"{module}.self_sublayer", x, attend_to_self)
    x = layers.sublayer(f"{module}.cross_sublayer", x, attend_to_memory)
    return layers.sublayer(f"{module}.feed_sublayer", x, lambda h: layers.feed_forward(f"{module}.feed_forward", h))


def _source_numbers(graph: Graph) -> str:
    """Return the positions of source tokens, [S]."""
    length = graph.add("length", "Gather", ["batch_length", graph.constant("second", np.int64(1))])
    counted = [graph.constant("zero", np.int64(0)), length, graph.constant("step_one", np.int64(1))]
    return graph.add("source_numbers", "Range", counted)


def _sources(config: TransformerConfig, layers: Layers, numbers: str) -> str:
    """Embed sources with their positions, as rows [B*S D]."""
    graph = layers.graph
    weight = "embed_target.weight" if config.tie == "all" else "embed_source.weight"
    embedded = layers.embed("embed_source", weight, "src")  # [B S D]
    x = with_positions(config, graph, "source_positions", embedded, numbers)
    return graph.add("rows", "Reshape", [x, graph.constant("as_rows", np.array([-1, config.d_model]))])


def _tokens(config: TransformerConfig, layers: Layers, position: str) -> str:
    """Embed tokens [N D], all at the position that follows the past."""
    embedded = layers.embed("embed_target", "embed_target.weight", "tokens")
    return with_positions(config, layers.graph, "target_positions", embedded, position)


def _head_shapes(config: TransformerConfig, graph: Graph, batch_length: str) -> _Shapes:
    key, value = (
        graph.join(f"{what}_shape", [batch_length, graph.constant(f"{what}_heads", np.array([config.n_heads, width]))])
        for what, width in (("key", config.head_key_width), ("value", config.head_value_width))
    )
    return _Shapes(key, value)


def _key_values(config: TransformerConfig, what: str, rows: str, length: str) -> list[KeyValuePorts]:
    widths = config.head_key_width, config.head_value_width
    key, value = ([rows, config.n_heads, length, width] for width in widths)
    return [
        KeyValuePorts(Port(f"{what}.{n}.key", np.float32, key), Port(f"{what}.{n}.value", np.float32, value))
        for n in range(config.n_decoder_layers)
    ]
