"""The one table of what a bundle can be exported to, and the way from a bundle to an export that was compared with it.

An export holds, beside the files of its target,

    export.toml      format, target, precision, and the version of heedful that wrote it
    SHA256SUMS       the checksums of all files but the report
    recipe.toml      the whole configuration that the model was made with
    tokenizer.*      the tokenisers
    parity.json      how it compared with the model on real sentences

Knows of a target only the names that each target's module has: `POSITIONS`, which of `model.positions` it can express,
so that a new kind is refused until a target says otherwise; `refusals(config, tokenizers)`, what else of a model it
cannot; `export(bundle, folder, precision)`, which writes the target's own files into a folder that has the ones above
but the last; `computes_in(precision)`; `open_export(folder)`, the engine that reads them; `TOLERANCES`, by precision.
"""

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import tomlkit

import heedful
from heedful.config import read_toml
from heedful.decoding.config import search_of, with_changes
from heedful.decoding.shortlist import Shortlist, save_shortlist
from heedful.errors import ConfigError, HeedfulError
from heedful.export.optional_packages import package
from heedful.export.output_folder import prepared_place, put_in_place
from heedful.export.parity import Engine, Parity, Tolerance, compare_engines, write_parity
from heedful.models.bundle import Bundle
from heedful.models.transformer_config import TransformerConfig
from heedful.records.checksums import SUMS, check_file, check_files, refuse_special_files, write_checksums
from heedful.tasks.table import translator_of
from heedful.text.atomic_files import write_text
from heedful.text.tokenizer import Tokenizers

FORMAT = 1
FACTS = "export.toml"
COPY_AGAIN = (
    "Copy the whole folder again, or export the model once more. If you edited a file yourself, take its line out of "
    f"{SUMS}."
)


class ExportTarget(Protocol):
    """Interface of a target's module."""

    TOLERANCES: Mapping[str, Tolerance]
    POSITIONS: Collection[str]  # kinds of `model.positions`
    SEARCH_LACKS: Sequence[str]  # settings that are off unless set

    def refusals(self, config: TransformerConfig, tokenizers: Tokenizers) -> list[str]:
        """List what the target cannot express of such a model, each in a few words; empty where all can be."""
        ...

    def export(self, bundle: Bundle, folder: Path, precision: str) -> None:
        """Write the target's own files into an existing folder."""
        ...

    def computes_in(self, precision: str) -> bool:
        """Return whether it has kernels of this type on this machine, or only float32 ones with
        weights rounded to it.
        """
        ...

    def open_export(self, folder: Path) -> Engine:
        """Open the engine that reads the files, with the search settings of the folder's recipe."""
        ...


TARGETS: dict[str, str] = {  # the name of a target and its module
    "ctranslate2": "heedful.export.ctranslate2",
    "huggingface": "heedful.export.huggingface",
    "onnx": "heedful.export.onnx",
}
NEEDS = {"ctranslate2": ("ctranslate2",), "huggingface": ("transformers",), "onnx": ("onnx", "onnxruntime")}
GREEDY = frozenset({"huggingface"})  # their own beam search ends and ranks by other rules: greedy search is compared
NATIVE = ("attention_top_k", "attention_window")  # of a model; no target has them
SHORTLISTED = frozenset({"ctranslate2"})  # can use a lexical shortlist


class Export(NamedTuple):
    """Description that an export holds of itself."""

    folder: Path
    target: str
    precision: str


def target_module(name: str) -> ExportTarget:
    """Import the module of a target. Raises ConfigError for one that there is not."""
    if name not in TARGETS:
        raise ConfigError(f'There is no target "{name}".', hint=f"Use one of: {', '.join(TARGETS)}.")
    return cast(ExportTarget, import_module(TARGETS[name]))


def is_export(folder: Path) -> bool:
    """Return whether a folder is marked as an export."""
    return (folder / FACTS).is_file()


def read_export(folder: Path) -> Export:
    """Read the description of an export. Raises ConfigError where it is none, HeedfulError for another version."""
    if not is_export(folder):
        hint = "Make one with: heedful export MODEL OUT --to TARGET."
        raise ConfigError(f"{folder} is no export: it has no {FACTS}.", hint=hint)
    facts = read_toml(folder / FACTS).values
    if facts.get("format") != FORMAT or facts.get("target") not in TARGETS:
        hint = f"It was written by heedful {facts.get('heedful', 'unknown')}; this is {heedful.__version__}."
        what = f"format {facts.get('format')} for {facts.get('target')}"
        raise HeedfulError(f"{folder} is an export of {what}, which this version cannot read.", hint=hint)
    return Export(folder, str(facts["target"]), str(facts["type"]))


def open_export(folder: Path) -> Engine:
    """Open the engine of an export, whatever its target. Raises HeedfulError where its files are not those written."""
    refuse_special_files(folder)
    found = read_export(folder)
    _check_files(folder)
    return target_module(found.target).open_export(folder)


def _check_files(folder: Path) -> None:
    """Raise HeedfulError that names the first file which is missing or not as it was written."""
    facts = read_toml(folder / FACTS).values
    if facts.get("checksums") and not (folder / SUMS).is_file():
        raise HeedfulError(f"{folder / SUMS} is missing.", hint=COPY_AGAIN)
    check_files(folder, hint=COPY_AGAIN)
    for name, digest in facts.get("files", {}).items():  # of earlier versions
        check_file(folder / name, str(digest), COPY_AGAIN)
    recipe = folder / "recipe.toml"
    tables = read_toml(recipe).values.keys() if recipe.is_file() else ()
    for table in ("model", "search"):
        if table not in tables:
            what = f"has no [{table}]" if recipe.is_file() else "is missing"
            raise HeedfulError(f"{recipe} {what}.", hint=COPY_AGAIN)


def check_expressible(bundle: Bundle, target: str, precision: str) -> None:
    """Raise ConfigError where a target cannot express a model, or has no such precision, and HeedfulError where its
    packages are not installed: before any work.
    """
    module = target_module(target)
    if precision not in module.TOLERANCES:
        hint = f"{target} has {', '.join(module.TOLERANCES)}."
        raise ConfigError(f'The target {target} has no precision "{precision}".', hint=hint)
    config = bundle.config
    if not isinstance(config, TransformerConfig):
        hint = "Exports are of transformers; heedful itself uses every kind."
        raise ConfigError(f'{target} cannot express this model: kind = "{config.kind}".', hint=hint)
    own = [f"{key} = {value}" for key in NATIVE if (value := getattr(config, key)) is not None]
    lacks = [] if config.positions in module.POSITIONS else [f'positions = "{config.positions}"']
    if refused := [*own, *lacks, *module.refusals(config, bundle.tokenizers)]:
        hint = f"No target has {own[0].split()[0]}: heedful itself does." if own else "Choose another target."
        raise ConfigError(f"{target} cannot express this model: {'; '.join(refused)}.", hint=hint)
    search = search_of(bundle.recipe, "the model")
    for key in module.SEARCH_LACKS:
        value = getattr(search, key)
        if value and value != "beam":
            edit = f"take `{key}` out of [search] in its recipe.toml, and the line of recipe.toml out of {SUMS}"
            hint = f"Use the native engine, or edit the bundle: {edit}."
            asked = f'`{key}` = "{value}"' if isinstance(value, str) else f"`{key}`"
            raise ConfigError(f"{target} has no {asked}, which this model's recipe asks for.", hint=hint)
    for name in NEEDS.get(target, ()):
        package(name)


def write_export(bundle: Bundle, folder: Path, target: str, precision: str, shortlist: Shortlist | None = None) -> None:
    """Write an export into an existing, empty folder, without comparing it; with the bundle's shortlist, if any."""
    check_expressible(bundle, target, precision)
    bundle.tokenizers.save(folder)
    write_text(folder / "recipe.toml", tomlkit.dumps(bundle.recipe))
    if shortlist is not None and target in SHORTLISTED:
        save_shortlist(folder, shortlist, bundle.tokenizers)
    target_module(target).export(bundle, folder, precision)
    facts = {"format": FORMAT, "heedful": heedful.__version__, "target": target, "type": precision}
    write_text(folder / FACTS, tomlkit.dumps({**facts, "checksums": "sha256"}))
    write_checksums(folder)


def export_bundle(
    bundle: Bundle,
    out: Path,
    target: str,
    precision: str,
    lines: Sequence[str],
    shortlist: Shortlist | None = None,
) -> Parity:
    """Write an export, translate `lines` with it and with the model, and put it in its place if they agree.

    Raises ConfigError before any work where the target cannot express the model or `out` exists, and CheckFailed where
    the two disagree: what was written is then kept as `OUT.failed`, with the report, in place of an earlier one.
    """
    check_expressible(bundle, target, precision)
    with prepared_place(out) as partial:
        write_export(bundle, partial, target, precision, shortlist)
        exact = {"precision": "float32", **({"beam": 1} if target in GREEDY else {})}  # the original, as it was trained
        search = with_changes(search_of(bundle.recipe, "the model"), exact)
        native = translator_of(bundle.model, bundle.tokenizers, search, shortlist)
        tolerance = target_module(target).TOLERANCES[precision]
        parity = compare_engines(native, target_module(target).open_export(partial), lines, tolerance)
        write_parity(partial, parity)
        put_in_place(partial, out, parity)
    return parity
