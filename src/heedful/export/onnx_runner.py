"""An exported pair of ONNX graphs as a model that the translator and every search can use, on onnxruntime.

Knows the names of the graphs' inputs and outputs, and nothing of what is inside.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.config import read_toml
from heedful.decoding.config import search_of
from heedful.decoding.sequence_backend import SequenceBackend
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError, HeedfulError
from heedful.export.optional_packages import package
from heedful.layers.inference_linear import Readout
from heedful.models.interface import Memory, Seq2Seq, State
from heedful.models.recording import is_recording
from heedful.text.tokenizer import Tokenizers, load_tokenizers

ENCODER, STEP = "encoder.onnx", "step.onnx"


def open_export(folder: Path) -> Translator:
    """Open a translator that runs the graphs of an export, with the search settings of its recipe.

    Raises HeedfulError where files are missing, damaged, or of different models, or where onnxruntime is not installed.
    """
    tokenizers = load_tokenizers(folder)
    model = OnnxModel(_session(folder / ENCODER), _session(folder / STEP))
    if model.facts.get("tokenizers") != tokenizers_fact(tokenizers):
        hint = "Copy the whole folder of the export again."
        raise HeedfulError(f"The tokenizer files in {folder} are not those of its graphs.", hint=hint)
    recipe = read_toml(folder / "recipe.toml")
    # The precision of the native engine says nothing of an export, which has the one that it was made with.
    search = search_of(recipe.values, recipe.origin).model_copy(update={"precision": "float32"})
    return Translator(SequenceBackend(model, search, tokenizers.target.decode), tokenizers)


def tokenizers_fact(tokenizers: Tokenizers) -> str:
    """Format the fingerprints of both tokenisers, as the graphs' metadata hold them."""
    return f"{tokenizers.source.fingerprint} {tokenizers.target.fingerprint}"


@final
class OnnxState(State):
    """Keys and values of each decoder layer, as the step graph names them; the past ones grow, a row of them a beam."""

    def __init__(self, beams: int, past: Mapping[str, Tensor], cross: Mapping[str, Tensor], mask: Tensor) -> None:
        self.beams, self.past, self.cross, self.mask = beams, past, cross, mask

    def reorder(self, rows: Int[Tensor, " N"]) -> "OnnxState":
        past = {name: kept.index_select(0, rows) for name, kept in self.past.items()}
        sentences = rows.view(-1, self.beams)[:, 0] // self.beams
        if len(sentences) == len(self.mask) and torch.equal(sentences, torch.arange(len(sentences))):
            return OnnxState(self.beams, past, self.cross, self.mask)
        cross = {name: kept.index_select(0, sentences) for name, kept in self.cross.items()}
        return OnnxState(self.beams, past, cross, self.mask.index_select(0, sentences))


class Heads(NamedTuple):
    """The fixed sizes of one input of the step: its name, its heads, and their width."""

    name: str
    n_heads: int
    width: int


@final
class OnnxModel(Seq2Seq):
    """Both graphs behind the interface of a model, always on the CPU and in eval mode.

    A memory here is what all decoder layers read of it, side by side [B S W]. A step ends with the output layer, so
    that what `step` and `decode` give are logits already, and `logits` returns them as they are.
    """

    def __init__(self, encoder: Any, step: Any) -> None:
        """Wrap `encoder` and `step`, sessions of onnxruntime."""
        super().__init__()
        self._encoder, self._step = encoder, step
        self.facts: dict[str, str] = step.get_modelmeta().custom_metadata_map
        self._cross, self._past = (_inputs(step, what) for what in ("cross", "past"))
        self._outputs = [port.name for port in step.get_outputs()]

    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B S"]) -> Memory:
        _refuse_maps()
        names = [heads.name for heads in self._cross]
        read = self._encoder.run(names, {"src": src.numpy(), "src_mask": src_mask.numpy()})
        values = [torch.from_numpy(part).transpose(1, 2).flatten(2) for part in read]  # [B H S E] -> [B S H*E]
        return Memory(torch.cat(values, dim=2), src_mask)

    def start(self, memory: Memory, beams: int) -> OnnxState:
        rows = len(memory.mask) * beams
        parts = memory.values.split([heads.n_heads * heads.width for heads in self._cross], dim=2)
        cross = {
            heads.name: part.unflatten(2, (heads.n_heads, heads.width)).transpose(1, 2).contiguous()
            for heads, part in zip(self._cross, parts, strict=True)
        }
        past = {heads.name: torch.empty(rows, heads.n_heads, 0, heads.width) for heads in self._past}
        return OnnxState(beams, past, cross, memory.mask)

    def step(self, state: State, tokens: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N V"], OnnxState]:
        assert isinstance(state, OnnxState)
        given = {"tokens": tokens, "memory_mask": state.mask, **state.cross, **state.past}
        logits, *present = self._step.run(self._outputs, {name: tensor.numpy() for name, tensor in given.items()})
        past = {heads.name: torch.from_numpy(part) for heads, part in zip(self._past, present, strict=True)}
        return torch.from_numpy(logits), OnnxState(state.beams, past, state.cross, state.mask)

    def decode(self, memory: Memory, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        _refuse_maps()
        state, logits = self.start(memory, 1), []
        for tokens in tgt_in.T:
            now, state = self.step(state, tokens)
            logits.append(now)
        return torch.stack(logits, dim=1)

    @property
    def longest(self) -> int | None:
        return int(self.facts["longest"]) if "longest" in self.facts else None

    def output_weight(self) -> NoReturn:
        raise ValueError("The output matrix of an ONNX export is inside its graph.")

    def readout(self, make: Callable[[Tensor, Tensor | None], Readout]) -> Readout:
        return OnnxReadout()

    def logits(self, hidden: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows V"]:
        return hidden


@final
class OnnxReadout(Readout):
    """The output layer of a step that ends with it: its logits, as they are."""

    def __call__(self, hidden: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows V"]:
        return hidden

    def among(self, ids: Int[Tensor, " U"]) -> NoReturn:
        hint = "Use the engine native or ctranslate2, with the bundle that it was made from."
        raise ConfigError("The engine onnx has no `shortlist`: its output matrix is inside its graph.", hint=hint)


def _refuse_maps() -> None:
    if is_recording():
        hint = "Inspect the bundle that it was made from."
        raise ConfigError("An ONNX export has no attention maps to look at.", hint=hint)


def _inputs(step: Any, what: str) -> list[Heads]:
    ports = [port for port in step.get_inputs() if port.name.startswith(f"{what}.")]
    return [Heads(port.name, port.shape[1], port.shape[3]) for port in ports]


def _session(path: Path) -> Any:
    """Open an onnxruntime session on the CPU, with as many threads as torch uses."""
    onnxruntime: Any = package("onnxruntime")
    if not path.is_file():
        raise HeedfulError(f"{path} is missing.", hint="Copy the whole folder of the export again.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    # Its threads would go on spinning after a run, on the cores on which torch's then search.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # errors come as exceptions, and are told once
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no class of their own in common
        hint = "Copy the whole folder of the export again, or install the onnxruntime that wrote it."
        raise HeedfulError(f"onnxruntime cannot read {path} ({error}).", hint=hint) from None
