"""The ONNX graphs against the model: every variant, every step, whatever rows search keeps, in two runtimes.

One runtime is onnxruntime, the other the slow one by which onnx defines its operators.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import onnx
import pytest
import torch
from tests.models.tiny import EVERY_VARIANT, FIRST, PAIRS, VOCABULARY, batch_of, tiny_config, tiny_model

from heedful.export.onnx import WEIGHTS, write_graphs
from heedful.export.onnx_positions import waves
from heedful.export.onnx_runner import ENCODER, STEP, OnnxModel
from heedful.layers.position import Layout, sinusoids
from heedful.models.interface import State
from heedful.models.transformer import Transformer
from heedful.models.weights import read_tensors

BEAMS = 3
CLOSE = {"atol": 2e-5, "rtol": 1e-4}


class Runtime(Protocol):
    """Runs one graph file: names of outputs and inputs by name in, arrays out."""

    def __call__(self, path: Path) -> "Session": ...


class Session(Protocol):
    """One graph, ready to run."""

    def run(self, names: list[str] | None, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]: ...


def onnxruntime(path: Path) -> Session:
    from onnxruntime import InferenceSession

    return InferenceSession(path)


def reference(path: Path) -> Session:
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(str(path))


class Exported(NamedTuple):
    """A model in double precision, and its graphs."""

    model: Transformer
    folder: Path


def exported(folder: Path, changes: Mapping[str, object]) -> Exported:
    model = tiny_model(changes)
    write_graphs(model, tiny_config(changes), folder, {"made": "here"})
    return Exported(model, folder)


@pytest.mark.parametrize("runtime", [onnxruntime, reference])
@EVERY_VARIANT
@torch.inference_mode()
def test_graphs_are_the_model(variant: Mapping[str, object], runtime: Runtime, tmp_path: Path) -> None:
    """From an empty past on, K beams a sentence, one sentence with nothing to read, rows reordered after each step."""
    model, folder = exported(tmp_path, variant)
    encoder, step = runtime(folder / ENCODER), runtime(folder / STEP)
    batch = batch_of(PAIRS)
    mask = batch.src_mask.clone()
    mask[2] = False
    memory = model.encode(batch.src, mask)
    layers = range(len(list(model.decoder)))
    cross = [f"cross.{layer}.{part}" for layer in layers for part in ("key", "value")]
    read = encoder.run(["memory", *cross], {"src": batch.src.numpy(), "src_mask": mask.numpy()})
    np.testing.assert_allclose(read[0], memory.values.numpy(), **CLOSE)

    config, rows = tiny_config(variant), BEAMS * len(PAIRS)
    state = model.start(memory, BEAMS)
    widths = {"key": config.head_key_width, "value": config.head_value_width}
    past = [np.zeros((rows, config.n_heads, 0, widths[name.split(".")[2]]), np.float32) for name in cross]
    generator = torch.Generator().manual_seed(1)
    for length in range(5):
        tokens = torch.randint(FIRST, VOCABULARY, (rows,), generator=generator)
        hidden, state = model.step(state, tokens)
        given = {"tokens": tokens.numpy(), "memory_mask": mask.numpy(), **dict(zip(cross, read[1:], strict=True))}
        given |= {name.replace("cross", "past"): kept for name, kept in zip(cross, past, strict=True)}
        logits, *past = step.run(["logits", *(name.replace("cross", "present") for name in cross)], given)
        np.testing.assert_allclose(logits, model.logits(hidden).numpy(), **CLOSE)
        assert past[0].shape[2] == length + 1
        beams = torch.randint(0, BEAMS, (len(PAIRS), BEAMS), generator=generator)
        order = (torch.arange(len(PAIRS))[:, None] * BEAMS + beams).flatten()
        state, past = state.reorder(order), [kept[order.numpy()] for kept in past]


@EVERY_VARIANT
@torch.inference_mode()
def test_whole_is_steps(variant: Mapping[str, object], tmp_path: Path) -> None:
    """Behind the interface of a model, teacher forcing gives the logits of the model that was exported."""
    model, folder = exported(tmp_path, variant)
    runs = OnnxModel(onnxruntime(folder / ENCODER), onnxruntime(folder / STEP))
    batch = batch_of(PAIRS)
    wanted = model.logits(model(batch.src, batch.src_mask, batch.tgt_in)).float()
    torch.testing.assert_close(runs.logits(runs(batch.src, batch.src_mask, batch.tgt_in)), wanted, **CLOSE)


KEPT = [[0, 0, 2, 3, 5, 4, 7, 7], [3, 2, 4, 4, 6, 7], [1, 0]]  # rows of four sentences, of three, of one; two beams


@torch.inference_mode()
def test_sentences_leave(tmp_path: Path) -> None:
    """The state keeps the rows that search keeps, and the memories of their sentences."""
    model, folder = exported(tmp_path, {})
    runs = OnnxModel(onnxruntime(folder / ENCODER), onnxruntime(folder / STEP))
    batch = batch_of(PAIRS)
    native: State = model.start(model.encode(batch.src, batch.src_mask), 2)
    other: State = runs.start(runs.encode(batch.src, batch.src_mask), 2)
    n_rows = 2 * len(PAIRS)
    for rows in KEPT:
        tokens = torch.arange(n_rows) % VOCABULARY
        hidden, native = model.step(native, tokens)
        logits, other = runs.step(other, tokens)
        torch.testing.assert_close(logits, model.logits(hidden).float(), **CLOSE)
        native, other, n_rows = native.reorder(torch.tensor(rows)), other.reorder(torch.tensor(rows)), len(rows)
    hidden, _ = model.step(native, torch.tensor([5, 6]))
    torch.testing.assert_close(runs.step(other, torch.tensor([5, 6]))[0], model.logits(hidden).float(), **CLOSE)


@EVERY_VARIANT
def test_each_matrix_is_kept_once(variant: Mapping[str, object], tmp_path: Path) -> None:
    """The file holds the model's own parameters, and the graphs only say where in it they are."""
    model, folder = exported(tmp_path, variant)
    kept = read_tensors(folder / WEIGHTS)
    assert {name: tensor.shape for name, tensor in kept.items()} == {
        name: parameter.shape for name, parameter in model.named_parameters()
    }
    declared = set()
    for name in (ENCODER, STEP):
        graph = onnx.load(folder / name, load_external_data=False).graph
        outside = [tensor for tensor in graph.initializer if tensor.external_data]
        assert {entry.value for tensor in outside for entry in tensor.external_data if entry.key == "location"} == {
            WEIGHTS
        }
        declared |= {tensor.name for tensor in outside}
        constants = [onnx.numpy_helper.to_array(t).size for t in graph.initializer if not t.external_data]
        assert max(constants) <= max(4, tiny_config(variant).d_model)  # scalars, shapes, and the waves
    assert declared == set(kept)


def test_names_are_those_of_the_model(tmp_path: Path) -> None:
    """Each node is known by what it computes, and each has a name of its own."""
    _, folder = exported(tmp_path, {})
    nodes = {file: [node.name for node in onnx.load(folder / file).graph.node] for file in (ENCODER, STEP)}
    assert all(len(names) == len(set(names)) for names in nodes.values())
    assert "encoder.1.feed_forward.widen" in nodes[ENCODER]
    assert "decoder.0.cross_attention.project_out" in nodes[STEP]


def test_a_position_beyond_the_trained_ones_is_an_error(tmp_path: Path) -> None:
    _, folder = exported(tmp_path, {"positions": "learned", "max_positions": 4})
    encoder = onnxruntime(folder / ENCODER)
    names = ["memory"]
    encoder.run(names, {"src": np.full((1, 4), 5), "src_mask": np.ones((1, 4), bool)})
    with pytest.raises(Exception, match="Non-zero status code"):
        encoder.run(names, {"src": np.full((1, 5), 5), "src_mask": np.ones((1, 5), bool)})


@pytest.mark.parametrize("layout", ["sinusoidal", "t2t"])
@pytest.mark.parametrize("width", [1, 2, 7, 12])
def test_waves_are_the_sinusoids(layout: Layout, width: int) -> None:
    frequencies, phases = waves(width, layout)
    computed = np.sin(np.arange(3000)[:, None] * frequencies + phases)
    np.testing.assert_allclose(computed, sinusoids(3000, width, layout).numpy(), atol=1e-7)
