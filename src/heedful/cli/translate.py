"""`heedful translate`: text in, text out, line by line."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.lines import read_lines
from heedful.errors import ConfigError

if TYPE_CHECKING:
    from heedful.decoding.translation import Translation

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
    from heedful.config import Layer, resolve
    from heedful.decoding.config import SearchConfig
    from heedful.decoding.translator import Translator
    from heedful.recipe.load import load
    from heedful.text.files import replacing

    if beam is not None and temperature is None and n_best > beam:
        raise ConfigError(
            f"--n-best {n_best} asks for more outputs than --beam {beam} finds.", hint=f"Use --beam {n_best}."
        )
    lines = read_lines(file)
    first = list(islice(lines, CHUNK))  # a missing file is found before the model is loaded
    loaded = load(model)
    asked = {
        "beam": max(beam or loaded.search.beam, n_best),
        "length_penalty": length_penalty,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    changes = {key: value for key, value in asked.items() if value is not None}
    search = resolve(SearchConfig, [Layer("model", loaded.search.model_dump()), Layer("command line", changes)]).config
    translator = Translator(loaded.model, loaded.tokenizers, search)

    def printed() -> Iterator[str]:
        chunk, number = first, 0
        while chunk:
            prefixes = None if prefix is None else [prefix] * len(chunk)
            for source, found in zip(chunk, translator.translate(chunk, n_best=n_best, prefixes=prefixes), strict=True):
                number += 1
                for warning in found.warnings:
                    typer.echo(f"warning: {file}:{number}: {warning}", err=True)
                yield from _rendered(number, source, found, n_best, as_json)
            chunk = list(islice(lines, CHUNK))

    if output is None:
        for line in printed():
            sys.stdout.buffer.write(f"{line}\n".encode())  # UTF-8 and LF, whatever the terminal's settings are
        sys.stdout.flush()
        return
    with replacing(output) as sink:
        for line in printed():
            sink.write(f"{line}\n".encode())


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
