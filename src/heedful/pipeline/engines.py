"""Which engine translates: the native one on a bundle, or the program of an export, made in passing where need be.

Knows no command line.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from heedful.decoding.shortlist import Shortlist, load_shortlist
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError
from heedful.export.fastest_precision import EXACT, Timing, choose_fastest, measure_precisions, time_engines
from heedful.export.parity import FLOAT32, Tolerance
from heedful.export.targets import (
    check_expressible,
    is_export,
    open_export,
    read_export,
    target_module,
    write_export,
)
from heedful.layers.inference_linear import computes_in
from heedful.models.bundle import Bundle, load_bundle
from heedful.pipeline.load import bundle_folder, load_ensemble, remark_on
from heedful.recipe.tables import KINDS

ENGINES = ("native", "ctranslate2", "onnx")
AUTO = "auto"

NATIVE_TOLERANCES: Mapping[str, Tolerance] = {
    "float32": FLOAT32,
    "bfloat16": Tolerance(equal_texts=0.9, log_p=0.2),
    "int8": Tolerance(equal_texts=0.75, log_p=0.5),
}


class EngineChoice(NamedTuple):
    """Choice of an engine and a precision (None where left open), and of other models to average with."""

    name: str | None = None
    precision: str | None = None
    others: Sequence[Path] = ()
    mean: str | None = None


class OpenedEngine(NamedTuple):
    """An engine, and what a user should know of it."""

    engine: Translator
    remarks: list[str]


class ChosenPrecision(NamedTuple):
    """A precision, and how it was chosen or what is odd about it."""

    precision: str
    remarks: list[str]


def is_native(model: Path, choice: EngineChoice) -> bool:
    """Return whether the native engine is chosen."""
    return choice.name in (None, "native") and not is_export(model)


@contextmanager
def open_engine(
    model: Path, choice: EngineChoice, sample: Sequence[str], *, tokens: bool = True
) -> Iterator[OpenedEngine]:
    """Open the engine for a run directory, a bundle or an export.

    An export is read by its own program. A bundle is read by the native engine, or first exported to a temporary
    folder. `sample` holds lines on which precisions are timed if the type is "auto". Without `tokens` an engine
    may leave out the log-probabilities of tokens, where they cost time. Raises ConfigError for what does not go
    together.
    """
    if choice.name not in (None, *ENGINES):
        raise ConfigError(f'There is no engine "{choice.name}".', hint=f"Use one of: {', '.join(ENGINES)}.")
    if choice.precision == AUTO and not any(line.strip() for line in sample):  # nothing to measure on
        choice = choice._replace(precision=None)
    native = is_native(model, choice)
    if not native and (choice.others or choice.mean):
        way_out = "Leave --engine out."
        if is_export(model):
            way_out = f"{model} is an export: name the bundle or the run that it was made from."
        raise ConfigError("--ensemble is for the native engine and for bundles.", hint=way_out)
    if is_export(model):
        yield _lightened(_open_export(model, choice), tokens)
    elif native:
        native_engine = _native(load_ensemble(model, choice.others, choice.mean), choice.precision, sample)
        remarks = [remark for path in (model, *choice.others) if (remark := remark_on(path)) is not None]
        yield native_engine._replace(remarks=[*remarks, *native_engine.remarks])
    else:
        assert choice.name is not None  # or it would be native
        bundle = load_bundle(bundle_folder(model), KINDS)
        shortlist = load_shortlist(bundle_folder(model), bundle.tokenizers)
        chosen = choose_precision(bundle, choice.name, choice.precision or EXACT, sample, shortlist)
        with TemporaryDirectory(prefix="heedful-") as place:
            write_export(bundle, Path(place), choice.name, chosen.precision, shortlist)
            engine = _open_export(Path(place), EngineChoice()).engine
            yield _lightened(OpenedEngine(engine, chosen.remarks), tokens)


def _native(loaded: Translator, precision: str | None, sample: Sequence[str]) -> OpenedEngine:
    if precision is None:
        return OpenedEngine(loaded, [])
    if precision != AUTO:
        return OpenedEngine(loaded.with_search({"precision": precision}), [])
    usable = [name for name in NATIVE_TOLERANCES if computes_in(name, loaded.backend.device)]
    engines = {name: loaded.with_search({"precision": name}) for name in usable}
    chosen = _quickest("native", time_engines(engines, sample), NATIVE_TOLERANCES)
    return OpenedEngine(engines[chosen.precision], chosen.remarks)


def check_choice(bundle: Bundle, target: str, precision: str) -> None:
    """Check that a target can express a model in a precision; "auto" is one. Raises ConfigError."""
    check_expressible(bundle, target, EXACT if precision == AUTO else precision)


def choose_precision(
    bundle: Bundle, target: str, precision: str, sample: Sequence[str], shortlist: Shortlist | None = None
) -> ChosenPrecision:
    """Return the chosen precision, or for "auto" the fastest one on this machine."""
    check_choice(bundle, target, precision)
    module = target_module(target)
    if precision != AUTO:
        return ChosenPrecision(precision, _oddities(target, precision))
    return _quickest(target, measure_precisions(bundle, target, sample, shortlist), module.TOLERANCES)


def _quickest(engine: str, timings: Sequence[Timing], tolerances: Mapping[str, Tolerance]) -> ChosenPrecision:
    chosen = choose_fastest(timings, tolerances)
    figures = ", ".join(f"{one.precision} {one.seconds:.2f} s ({one.equal_texts:.0%} equal)" for one in timings)
    return ChosenPrecision(chosen, [f"{engine} computes in {chosen}: {figures}"])


def _open_export(folder: Path, choice: EngineChoice) -> OpenedEngine:
    found = read_export(folder)
    if choice.name not in (None, found.target):
        hint = "Name the bundle, or leave --engine out."
        raise ConfigError(f"{folder} is for {found.target}: the engine {choice.name} cannot read it.", hint=hint)
    if choice.precision is not None:
        hint = "Leave --type out, or export the model once more."
        raise ConfigError(f"{folder} is in {found.precision}, and cannot be in another type.", hint=hint)
    if found.target not in ENGINES:
        hint = "Name the bundle that it was made from."
        raise ConfigError(f"{folder} is for {found.target}, which is no engine of heedful.", hint=hint)
    engine = cast(Translator, open_export(folder))
    return OpenedEngine(engine, _oddities(found.target, found.precision))


def _oddities(target: str, precision: str) -> list[str]:
    if target_module(target).computes_in(precision):
        return []
    return [f"{target} cannot compute in {precision} on this machine: float32 with weights rounded to {precision}"]


def _lightened(opened: OpenedEngine, tokens: bool) -> OpenedEngine:
    return opened if tokens else opened._replace(engine=opened.engine.without_tokens())
