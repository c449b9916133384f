"""`heedful translate`: text in, text out, line by line."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.lines import read_lines
from heedful.errors import ConfigError

if TYPE_CHECKING:
    from heedful.decoding.translation import Translation
    from heedful.decoding.translator import Translator

CHUNK = 1000  # lines that are read, sorted by length and translated together


def translate(
    model: Annotated[Path, typer.Argument(help="A run directory or a model bundle.")],
    file: Annotated[Path, typer.Argument(help="A text file; - is standard input.")] = Path("-"),
    output: Annotated[
        Path | None, typer.Option(help="Write here, whole or not at all, instead of standard output.")
    ] = None,
    n_best: Annotated[
        int, typer.Option(min=1, help="Print so many outputs a line: number, rank, score, text, by tabs.")
    ] = 1,
    prefix: Annotated[str | None, typer.Option(help="Every output must begin with this.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beams; 1 is greedy.")] = None,
    length_penalty: Annotated[float | None, typer.Option(min=0, help="Alpha of the length penalty.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Sample at this temperature instead of searching.")] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Sample among the k most probable tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sample among the fewest tokens with this much probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of sampling.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line: text, scores, tokens, n-best.")
    ] = False,
) -> None:
    """Translate a file or standard input: one line in, one line out, in order; a blank line stays blank."""
    from heedful.recipe.load import load
    from heedful.text.files import replacing

    if beam is not None and temperature is None and n_best > beam:
        raise ConfigError(
            f"--n-best {n_best} asks for more outputs than --beam {beam} finds.", hint=f"Use --beam {n_best}."
        )
    chunks = _chunks(read_lines(file))
    first = next(chunks, [])  # a missing file is found before the model is loaded
    loaded = load(model)
    asked = {
        "beam": max(beam or loaded.search.beam, n_best),
        "length_penalty": length_penalty,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    translator = loaded.with_search({key: value for key, value in asked.items() if value is not None})
    found = _translated(translator, chain([first], chunks), n_best, prefix)
    with nullcontext(sys.stdout.buffer) if output is None else replacing(output) as sink:
        for number, (source, translation) in enumerate(found, start=1):
            for warning in translation.warnings:
                typer.echo(f"warning: {file}:{number}: {warning}", err=True)
            for line in _rendered(number, source, translation, n_best, as_json):
                sink.write(f"{line}\n".encode())  # UTF-8 and LF, whatever the terminal's settings are
        sink.flush()


def _chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    while chunk := list(islice(lines, CHUNK)):
        yield chunk


def _translated(
    translator: "Translator", chunks: Iterable[list[str]], n_best: int, prefix: str | None
) -> "Iterator[tuple[str, Translation]]":
    for chunk in chunks:
        prefixes = None if prefix is None else [prefix] * len(chunk)
        yield from zip(chunk, translator.translate(chunk, n_best=n_best, prefixes=prefixes), strict=True)


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
            "n_best": best,
        }
        yield json.dumps(facts, ensure_ascii=False)
    elif n_best == 1:
        yield found.text
    else:
        for rank, candidate in enumerate(found.n_best, start=1):
            yield f"{number}\t{rank}\t{candidate.score:.4f}\t{candidate.text}"
