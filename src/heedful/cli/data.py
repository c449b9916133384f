"""`heedful data`: list named data sets, get one, and check, describe or split pairs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.pairs import PairOptions, open_pairs
from heedful.cli.streams import print_json
from heedful.cli.table import align
from heedful.errors import CheckFailed, HeedfulError

if TYPE_CHECKING:
    from heedful.data.stats import DataStats
    from heedful.data.taxonomy import Taxonomy, UnitCounts

app = typer.Typer(help="Named data sets, and what is in your pairs.", no_args_is_help=True)

What = Annotated[
    list[str],
    typer.Argument(
        help="A recipe (.toml), then key=value; a named data set; one table, or two aligned files: the training pairs."
    ),
]
Dev = Annotated[list[Path] | None, typer.Option("--dev", help="Dev pairs: one table, or twice for two aligned files.")]
Test = Annotated[list[Path] | None, typer.Option("--test", help="Test pairs, likewise.")]
From = Annotated[Path | None, typer.Option("--from", help="A local copy of the named data set.")]
Pairs = Annotated[int, typer.Option(min=1, help="Training pairs of a synthetic data set.")]
Source = Annotated[str, typer.Option("--source-column", help="The source's column: a name, or a number from 1.")]
Target = Annotated[str, typer.Option("--target-column", help="The target's column.")]
Tokens = Annotated[Path | None, typer.Option("--tokenizers", help="A folder with tokenizers, to count tokens with.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the named data sets."""
    from heedful.recipe.splits import about

    sets = about()
    if as_json:
        print_json([entry._asdict() for entry in sets], indent=2)
        return
    rows = [(entry.name, f"{entry.source_language} > {entry.target_language}", entry.description) for entry in sets]
    typer.echo(align([("name", "languages", "what"), *rows]))


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A name from `heedful data list`.")],
    folder: From = None,
    to: Annotated[Path | None, typer.Option("--to", help="Write the splits there, as .tsv files.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Another address with the same files.")] = None,
    pairs: Pairs = 20_000,
    as_json: Json = False,
) -> None:
    """Download a named data set, check it, and say where it is."""
    from heedful.data.split import splits_to_write, write_splits
    from heedful.datasets.catalogue import get
    from heedful.recipe.tables import TASKS

    data = get(name, folder, base_url=base_url, pairs=pairs, tasks=TASKS)
    readers = {split: partial(data.read, split) for split in data.about.splits}
    if to is not None:
        splits_to_write(readers, to)  # what is there already is said before anything is downloaded
    files = data.fetch(_show_progress)
    if to is not None:
        files = write_splits(readers, to)
    if as_json:
        print_json({**data.about._asdict(), "files": [str(path) for path in files]}, indent=2)
        return
    typer.echo(f"{data.about.name}: {data.about.licence}", err=True)
    for path in files:
        typer.echo(path)


@app.command()
def check(
    what: What,
    dev: Dev = None,
    test: Test = None,
    folder: From = None,
    source_column: Source = "source",
    target_column: Target = "target",
    tokenizers: Tokens = None,
    near: Annotated[
        bool, typer.Option("--near", help="Look for near-duplicates of held-out sources too (slow).")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read all pairs and say what is wrong with them. Exit code 3 if there is an error among the findings."""
    from heedful.data.check import check_splits

    data = open_pairs(what, PairOptions(dev, test, folder, (source_column, target_column)), tokenizers)
    read = data.read()
    findings = check_splits(read, data.limits)
    if near:
        from heedful.data.near_duplicates import near_findings

        findings += near_findings({split: data.splits[split] for split in read.surveys})
    errors = sum(finding.severity == "error" for finding in findings)
    if as_json:
        print_json([finding._asdict() for finding in findings], indent=2)
    for finding in () if as_json else findings:
        typer.echo(f"{finding.severity}: {finding.place}: {finding.text}")
        if finding.hint:
            typer.echo(f"  hint: {finding.hint}")
    if errors:
        raise CheckFailed(f"{errors} error(s) and {len(findings) - errors} warning(s) in {' '.join(what)}.")
    typer.echo(f"No errors, {len(findings)} warning(s).", err=True)


@app.command()
def stats(
    what: What,
    dev: Dev = None,
    test: Test = None,
    folder: From = None,
    source_column: Source = "source",
    target_column: Target = "target",
    tokenizers: Tokens = None,
    as_json: Json = False,
) -> None:
    """Count pairs, lengths, duplicates, overlaps and unknown symbols."""
    from heedful.data.stats import data_stats

    data = open_pairs(what, PairOptions(dev, test, folder, (source_column, target_column)), tokenizers)
    read = data.read()
    if not read.surveys:
        raise HeedfulError(read.unreadable[0].text, hint=read.unreadable[0].hint)
    for finding in read.unreadable:
        typer.echo(f"warning: {finding.place} is left out: {finding.text}", err=True)
    found = data_stats(read.surveys, data.limits.max_tokens)
    if as_json:
        print_json(_plain(found), indent=2)
    else:
        _print_stats(found)


@app.command()
def taxonomy(
    what: What,
    folder: From = None,
    source_column: Source = "source",
    target_column: Target = "target",
    tokenizers: Tokens = None,
    as_json: Json = False,
) -> None:
    """Say how the sides align (position by position, in the same order, or in any), and which losses may be used."""
    from heedful.data.taxonomy import CELLS, in_units
    from heedful.data.taxonomy import taxonomy as measure

    data = open_pairs(what, PairOptions(None, None, folder, (source_column, target_column)), tokenizers)
    typer.echo("Reading all training pairs, and aligning some of them ...", err=True)
    units, pairs = in_units(data.splits["train"](), data.tokenizers)
    found = measure(pairs)
    if as_json:
        print_json({"units": _plain(units), **_plain(found)}, indent=2)
        return
    _print_taxonomy(units, found, CELLS[found.cell])


@app.command()
def split(
    files: Annotated[list[Path], typer.Argument(help="One table, or two aligned files.")],
    out: Annotated[Path, typer.Option("--out", help="The folder for train, dev and test.")],
    dev: Annotated[int, typer.Option(min=0, help="Pairs of dev.")] = 1000,
    test: Annotated[int, typer.Option(min=0, help="Pairs of test.")] = 1000,
    seed: Annotated[int, typer.Option(help="Which pairs.")] = 1,
    source_column: Source = "source",
    target_column: Target = "target",
    as_json: Json = False,
) -> None:
    """Split a corpus into train, dev and test; pairs with the same source stay together."""
    from heedful.data.split import Sizes, split_corpus

    written = split_corpus(files, out, Sizes(dev, test, seed), (source_column, target_column))
    if as_json:
        print_json({name: [str(path) for path in paths] for name, paths in written.items()}, indent=2)
        return
    for paths in written.values():
        for path in paths:
            typer.echo(path)


def _print_stats(found: "DataStats") -> None:
    rows = []
    for split in found.splits:
        for name, side in (("source", split.source), ("target", split.target)):
            lengths = side.token_percentiles or side.word_percentiles
            spread = f"{lengths[50]} {lengths[90]} {lengths[99]} {lengths[100]}"
            unknown = "" if side.unknown_rate is None else f"{side.unknown_rate:.2%}"
            counts = (split.pairs, split.duplicates, side.words, side.empty, side.distinct, side.alphabet)
            rows.append((split.split, name, *(f"{count:,}" for count in counts), spread, unknown))
    unit = "words" if found.splits[0].source.token_percentiles is None else "tokens"
    spread = f"{unit}: 50 90 99 100 %"
    counted = ("pairs", "repeated", "words", "empty", "distinct", "characters")
    typer.echo(align([("split", "side", *counted, spread, "unknown"), *rows], right=range(2, 8)))
    for overlap in found.overlaps:
        shared = f"{overlap.pair:,} pairs, {overlap.source:,} sources, {overlap.target:,} targets"
        typer.echo(f"{overlap.split} and train share {shared} (of {overlap.pairs:,}).")
    if (worst := found.worst_batch) is not None:
        largest = f"{worst.padded_tokens:,} tokens and {worst.attention_cells:,} attention weights a head"
        typer.echo(f"The largest batches (max_tokens {worst.max_tokens:,}) have {largest}.")


def _print_taxonomy(units: "UnitCounts", found: "Taxonomy", cell: str) -> None:
    lengths, order = found.lengths, found.order
    few = f"{lengths.impossible:,} of {lengths.pairs:,} pairs"
    if lengths.upsampling is None:
        few += "; some have an empty source"
    elif lengths.upsampling > 1:
        few += f"; {lengths.upsampling} frames for each source unit are enough"
    rows = [
        ("units", f"{units.source} to {units.target}"),
        ("pairs", f"{lengths.pairs:,}, of which {order.pairs:,} are aligned"),
        ("equally long", f"{lengths.equal:.1%} of the pairs"),
        ("too short for CTC (T < U + repeats)", few),
        ("from the source's same position", f"{order.own_position:.1%} of the outputs"),
        (
            "not from before the last one's position",
            f"{order.in_order:.1%} of the outputs; {order.whole:.1%} of the pairs",
        ),
        ("from a position that gives no other", f"{order.one_to_one:.1%} of the outputs"),
        ("cell", f"{found.cell}: {cell}"),
        ("losses that may be used", "; ".join(found.losses)),
    ]
    typer.echo(align(rows))
    typer.echo(found.remark)


def _plain(value: Any) -> Any:
    """Convert named tuples to JSON objects, at any depth."""
    if isinstance(value, tuple) and isinstance(fields := getattr(value, "_fields", None), tuple):
        return {field: _plain(entry) for field, entry in zip(fields, value, strict=True)}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def _show_progress(progress: Any) -> None:
    """Show one line a file on a terminal; nothing in a pipe."""
    import sys

    if sys.stderr is not None and sys.stderr.isatty():
        share = f" {progress.done / progress.total:4.0%}" if progress.total else ""
        typer.echo(f"\r{progress.name}{share} {progress.done:,} bytes", err=True, nl=progress.done == progress.total)
