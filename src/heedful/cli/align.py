"""`heedful align`: word alignments read from cross-attention, or how well each head agrees with a gold alignment."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.error_locations import named_after
from heedful.cli.streams import print_json
from heedful.cli.table import align as align_columns
from heedful.errors import ConfigError, HeedfulError
from heedful.records.files import to_json

if TYPE_CHECKING:
    from heedful.data.corpus import Pair
    from heedful.decoding.translator import Translator
    from heedful.inspection.alignment import AttentionChoice, GoldAlignment, PairUnits
    from heedful.trace import Trace


def align(
    model: Annotated[Path, typer.Argument(help="A run directory or a model bundle.")],
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="One table (.tsv, .csv, ...) or two aligned text files.")
    ],
    gold: Annotated[
        Path | None,
        typer.Option(help="A gold alignment, a line a pair (0-0 1-2 3?3): print the AER of every head, best first."),
    ] = None,
    first: Annotated[int, typer.Option(min=0, max=1, help="The number of the first position in the gold file.")] = 0,
    layer: Annotated[
        int | None,
        typer.Option(help="A layer, counted from 0. Not given: the last, or from four layers on the last but one."),
    ] = None,
    head: Annotated[str, typer.Option(help="A head, counted from 0, or `mean`.")] = "mean",
    shift: Annotated[
        int, typer.Option(min=0, max=1, help="0: the step that writes a word; 1: the one that reads it.")
    ] = 0,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Take all links of at least this weight, not each row's largest.")
    ] = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="Align subword pieces instead of words.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a pair (with --gold, a head).")
    ] = False,
) -> None:
    """Print one line a pair in the Pharaoh format: source-target positions, counted from 0.

    Subwords are merged into words (weights summed over the source, averaged over the target); characters and
    symbols are aligned one by one. Every target word has the source word it reads most.
    """
    from heedful.data.corpus import count_pairs, read_pairs
    from heedful.data.lines import refuse_second_use
    from heedful.pipeline.load import load, remark_on

    refuse_second_use([*files, *([] if gold is None else [gold])])
    n_pairs = count_pairs(files)
    golds = None if gold is None else _read_gold(gold, first, n_pairs)
    translator = load(model)
    if (remark := remark_on(model)) is not None:
        typer.echo(remark, err=True)
    translator.backend.decoder("A word alignment")
    examples = _examples(translator, read_pairs(files), pieces)
    with named_after(*files):
        _check_pairs(translator, read_pairs(files))
        if golds is None:
            _print_links(examples, layer, _head(head), shift, threshold, as_json)
        else:
            _print_ranking(examples, golds, as_json)


def _check_pairs(translator: "Translator", pairs: "Iterable[Pair]") -> None:
    """Find a pair that the model cannot read before anything is printed."""
    for number, pair in enumerate(pairs, start=1):
        ids = translator.tokenizers.source.encode(pair.source), translator.tokenizers.target.encode(pair.target)
        translator.backend.check_pairs([ids], number)


def _head(head: str) -> int | str:
    if head != "mean" and not (head.isdecimal() and len(head) < 10):
        hint = "Heads count from 0."
        raise ConfigError(f"`--head` must be a number from 0 or mean, but is {head:.40}.", hint=hint)
    return head if head == "mean" else int(head)


def _read_gold(path: Path, first: int, n_pairs: int) -> "list[GoldAlignment]":
    """Read the gold alignments; HeedfulError with the line where one is wrong, or where there are
    not as many as pairs.
    """
    from heedful.data.lines import read_lines
    from heedful.inspection.alignment import parse_gold

    golds = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            golds.append(parse_gold(line, first))
        except HeedfulError as error:
            raise HeedfulError(f"{path}:{number}: {error.message}", hint=error.hint) from None
    if len(golds) != n_pairs:
        raise HeedfulError(f"{path} has {len(golds)} lines, but there are {n_pairs} pairs.", hint="One line a pair.")
    return golds


def _examples(translator: "Translator", pairs: Any, pieces: bool) -> "Iterator[tuple[Trace, PairUnits]]":
    from heedful.inspection.alignment import as_pieces, as_words, units_of, usual_choice

    subwords = [side.config.kind in ("sentencepiece", "pieces") for side in translator.tokenizers]
    cuts = [as_words if merge and not pieces else as_pieces for merge in subwords]
    for pair in pairs:
        trace = translator.trace(pair.source, pair.target)
        usual_choice(trace)  # a model without cross-attention is refused
        yield trace, units_of(trace, *cuts)


def _print_links(
    examples: "Iterator[tuple[Trace, PairUnits]]",
    layer: int | None,
    head: int | str,
    shift: int,
    threshold: float | None,
    as_json: bool,
) -> None:
    from heedful.inspection.alignment import AttentionChoice, links_of, to_pharaoh, unit_matrix, usual_choice

    lines = []
    for trace, units in examples:
        choice = AttentionChoice(usual_choice(trace).layer if layer is None else layer, head, shift)
        _check_choice(trace, choice)
        links = links_of(unit_matrix(trace, choice, units), threshold)
        if as_json:
            source = ["".join(trace.source[unit.start : unit.stop]) for unit in units.source]
            target = ["".join(trace.predicted[unit.start : unit.stop]) for unit in units.target]
            lines.append(to_json({"source": source, "target": target, "links": links}))
        else:
            lines.append(to_pharaoh(links))
    typer.echo("\n".join(lines))


def _check_choice(trace: "Trace", choice: "AttentionChoice") -> None:
    heads = {shown.layer: shown.n_heads for shown in trace.maps if shown.kind == "decoder.cross"}
    if choice.layer not in heads:
        raise ConfigError(f"`--layer` must be 0 to {max(heads)}, but is {choice.layer}.", hint="Layers count from 0.")
    if choice.head != "mean" and int(choice.head) >= heads[choice.layer]:
        last = heads[choice.layer] - 1
        raise ConfigError(f"`--head` must be 0 to {last} or mean, but is {choice.head}.", hint="Heads count from 0.")


def _print_ranking(examples: "Iterator[tuple[Trace, PairUnits]]", golds: "list[GoldAlignment]", as_json: bool) -> None:
    from heedful.inspection.alignment import rank_choices

    ranking = rank_choices((*example, gold) for example, gold in zip(examples, golds, strict=True))
    rows = [
        {
            **choice._asdict(),
            "aer": agreement.aer,
            "precision": agreement.precision,
            "recall": agreement.recall,
            "links": agreement.links,
            "sure": agreement.sure,
        }
        for choice, agreement in ranking
    ]
    if as_json:
        for row in rows:
            print_json(row)
        return
    numbers = [[f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
    typer.echo(align_columns([list(rows[0]), *numbers], right=range(len(rows[0]))))
