"""`heedful translate`: text in, text out, line by line."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.error_locations import named_after
from heedful.cli.inputs import Input, Text, TranslationInput
from heedful.cli.streams import result_sink
from heedful.errors import ConfigError
from heedful.records.files import to_json

if TYPE_CHECKING:
    from heedful.decoding.translation import Translation
    from heedful.decoding.translator import Translator

CHUNK = 1000  # lines that are read, sorted by length and translated together


@options.with_search_options
def translate(
    *,
    model: Annotated[Path, typer.Argument(help="A run directory, a model bundle or an export.")],
    file: Annotated[Path, typer.Argument(help="A text file; - is standard input.")] = Path("-"),
    text: Text = None,
    output: options.Output = None,
    n_best: options.NBest = 1,
    input_format: options.InputFormat = "text",
    prefix: options.Prefix = None,
    require: options.Require = None,
    forbid: options.Forbid = None,
    search_changes: dict[str, object],
    ensemble: options.Ensemble = None,
    ensemble_mean: options.EnsembleMean = None,
    engine: options.Engine = None,
    precision: options.PrecisionOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line: text, scores, tokens, n-best.")
    ] = False,
) -> None:
    """Translate a file or standard input: one line in, one line out, in order; a blank line stays blank."""
    from heedful.pipeline.engines import EngineChoice, open_engine

    given = TranslationInput(file, text, input_format, prefix, require, forbid)
    chunks = given.chunks(CHUNK)
    first = next(chunks, [])  # a missing file is found before the model is loaded
    choice = EngineChoice(engine, precision, ensemble or (), ensemble_mean)
    with open_engine(model, choice, [one.source for one in first], tokens=as_json) as opened:
        for remark in opened.remarks:
            typer.echo(remark, err=True)
        translator = _searching(opened.engine.with_search(search_changes), n_best, "beam" in search_changes)
        found = _translated(translator, chain([first], chunks), n_best, given.place)
        _write(found, given.place, output, partial(_rendered, n_best=n_best, as_json=as_json))


def _write(
    found: "Iterator[list[tuple[str, Translation]]]",
    file: Path,
    output: Path | None,
    rendered: Callable[..., Iterator[str]],
) -> None:
    """Write what was found, chunk by chunk: whoever waits for an answer has it before more is read.

    Warnings are told on the way, and unknown symbols of all lines at the end.
    """
    done, unknown = 0, dict[int, int]()
    with result_sink(output) as sink:
        for chunk in found:
            for number, (source, one) in enumerate(chunk, start=done + 1):
                for warning in one.warnings:
                    typer.echo(f"warning: {file}:{number}: {warning}", err=True)
                if one.unknown:
                    unknown[number] = one.unknown
                for line in rendered(number, source, one):
                    sink.write(f"{line}\n".encode())
            done += len(chunk)
            sink.flush()
    if unknown:
        typer.echo(_unknown_symbols(file, unknown), err=True)


def _searching(translator: "Translator", n_best: int, beam_given: bool) -> "Translator":
    """Return the translator with a beam that finds `n_best` outputs, unless a smaller one was set."""
    from heedful.decoding.config import BeamSearch

    search = translator.search
    if not isinstance(search, BeamSearch) or n_best <= search.beam:
        return translator
    if beam_given:
        hint = f"Use --beam {n_best}."
        raise ConfigError(f"--n-best {n_best} asks for more outputs than --beam {search.beam} finds.", hint=hint)
    return translator.with_search({"beam": n_best})


def _translated(
    translator: "Translator", chunks: Iterable[list[Input]], n_best: int, place: Path
) -> "Iterator[list[tuple[str, Translation]]]":
    done = 0
    for chunk in chunks:
        sources = [one.source for one in chunk]
        with named_after(place):
            found = translator.translate(
                sources,
                n_best=n_best,
                prefixes=[one.prefix for one in chunk],
                rules=[one.rules for one in chunk],
                first_line=done + 1,
            )
        yield list(zip(sources, found, strict=True))
        done += len(chunk)


def _unknown_symbols(file: Path, counts: dict[int, int]) -> str:
    """Format one warning for all lines with symbols that the vocabulary lacks: {line: how many}."""
    total, first = sum(counts.values()), min(counts)
    what = f"{total} unknown symbol{'s' if total > 1 else ''} in the source"
    if len(counts) == 1:
        return f"warning: {file}:{first}: {what}"
    return f"warning: {file}: {what}, in {len(counts)} lines, the first of them {first}"


def _rendered(number: int, source: str, found: "Translation", n_best: int, as_json: bool) -> Iterator[str]:
    if as_json:
        best = [
            {"text": c.text, "score": c.score, "log_p": c.log_p, "tokens": [list(t) for t in c.tokens]}
            for c in found.n_best
        ]
        facts = {
            "line": number,
            "source": source,
            "text": found.text,
            "score": found.score,
            "warnings": found.warnings,
            "unknown": found.unknown,
            "n_best": best,
        }
        yield to_json(facts)
    elif n_best == 1:
        yield found.text
    else:
        for rank, candidate in enumerate(found.n_best, start=1):
            yield f"{number}\t{rank}\t{candidate.score:.4f}\t{candidate.text}"
