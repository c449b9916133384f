"""Exporting a trained model: checked, written, and compared with itself on sentences of its dev split."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heedful.decoding.shortlist import load_shortlist
from heedful.events import Report, silent
from heedful.export.output_folder import refuse_existing
from heedful.export.parity import Parity
from heedful.export.targets import export_bundle
from heedful.models.bundle import load_bundle
from heedful.pipeline.engines import check_choice, choose_precision
from heedful.pipeline.evaluate_split import dev_sources
from heedful.pipeline.load import bundle_folder
from heedful.recipe.tables import KINDS


class Exported(NamedTuple):
    """An export, the precision of its weights, and how close its outputs are to those of the model."""

    folder: Path
    precision: str
    parity: Parity


def export_model(
    model: Path | str,
    folder: Path | str,
    to: str,
    precision: str = "float32",
    *,
    lines: Sequence[str] | None = None,
    sentences: int = 200,
    report: Report = silent,
) -> Exported:
    """Write a model for another program into a new folder, then translate with both and compare.

    `to` is ctranslate2, onnx or huggingface; `precision` float32, int8, bfloat16, or auto: the quickest, measured.
    Compared are `lines`, or else the first `sentences` of the run's dev split. Raises ConfigError for what the target
    cannot express or a folder that is there, and CheckFailed for an export that differs by more than the tolerance of
    its precision: it is kept as FOLDER.failed. Reports `remark` and `exporting`.
    """
    model, folder = Path(model), Path(folder)
    refuse_existing(folder)
    bundle = load_bundle(bundle_folder(model), KINDS)
    check_choice(bundle, to, precision)
    compared = list(lines) if lines is not None else dev_sources(model, sentences)
    shortlist = load_shortlist(bundle_folder(model), bundle.tokenizers)
    chosen = choose_precision(bundle, to, precision, compared, shortlist)
    for remark in chosen.remarks:
        report("remark", {"text": remark})
    report("exporting", {"folder": str(folder), "lines": len(compared)})
    return Exported(folder, chosen.precision, export_bundle(bundle, folder, to, chosen.precision, compared, shortlist))
