"""`heedful inspect`: what a model attends to, as terminal blocks, figures, one offline page, or JSON."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.inputs import require_texts
from heedful.cli.lines import read_lines
from heedful.cli.streams import print_json
from heedful.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.decoding.translator import Translator
    from heedful.inspection.labels import Head
    from heedful.trace import Trace


MANY_TOKENS = 500  # of a text, from which on a trace takes seconds


class AttentionKind(StrEnum):
    """Kind of attention to show; the page shows all of them."""

    cross = "cross"
    decoder = "decoder"
    encoder = "encoder"
    reader = "reader"


_MAPS = {
    AttentionKind.cross: "decoder.{}.cross",
    AttentionKind.decoder: "decoder.{}.self",
    AttentionKind.encoder: "encoder.{}.self",
    AttentionKind.reader: "reader.{}.read",
}


def inspect(
    model: Annotated[Path, typer.Argument(help="A run directory or a model bundle.")],
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="One or more sources; - reads lines from stdin.")
    ],
    targets: Annotated[
        list[str] | None,
        typer.Option("--target", help="Force this output instead of the model's own; once for each TEXT."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write one offline page that shows every layer and head.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write a figure of one layer as SVG.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write a figure of one layer as PNG.")] = None,
    kind: Annotated[
        AttentionKind | None,
        typer.Option(help="The attention that blocks and figures show; not given: cross, else reader, else encoder."),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="The layer, counted from 0; the last one if not given.")] = None,
    head: Annotated[
        str | None,
        typer.Option(help="A head, counted from 0, or `mean`. Not given: blocks show the mean, figures all heads."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a text: tokens, weights, masks.")
    ] = False,
) -> None:
    """Show what the model reads for every token it writes; weights are those of evaluation, before any dropout."""
    sources = _sources(texts)
    require_texts("--target", targets or [])
    _check_usage(len(sources), targets, html, svg, png)
    from heedful.pipeline.load import load, remark_on

    translator = load(model)
    if (remark := remark_on(model)) is not None:
        typer.echo(remark, err=True)
    forced = targets or [None] * len(sources)
    traces = list(_traces(translator, sources, forced))
    name = _map_name(traces[0], kind, layer)
    chosen = _head(traces[0], name, head)
    if html is not None:
        _write_page(html, traces, str(model))
    for path in (svg, png):
        if path is not None:
            _write_figure(path, traces[0], name, chosen)
    if as_json:
        _print_json(traces)
    elif not (html or svg or png):
        _print_blocks(traces, name, "mean" if chosen is None else chosen)


def _traces(translator: "Translator", sources: list[str], targets: "Sequence[str | None]") -> "Iterator[Trace]":
    """Trace these texts; say so where a long one takes time."""
    for number, (source, target) in enumerate(zip(sources, targets, strict=True), start=1):
        tokens = len(translator.tokenizers.source.encode(source))
        if tokens > MANY_TOKENS:
            message = f"Text {number} has {tokens:,} tokens; a weight for each two of them takes a while ..."
            typer.echo(message, err=True)
        yield translator.trace(source, target)


def _check_usage(n: int, targets: list[str] | None, html: Path | None, svg: Path | None, png: Path | None) -> None:
    """Find what is wrong with the command line before the model is loaded."""
    if targets is not None and len(targets) != n:
        raise ConfigError(f"There are {n} texts but {len(targets)} targets.", hint="Give --target once a text.")
    if (svg or png) and n > 1:
        raise ConfigError(f"A figure shows one text, but {n} are given.", hint="--html shows several.")
    for path in (html, svg, png):
        if path is not None and not path.absolute().parent.is_dir():
            hint = "Make it, or name another."
            raise ConfigError(f"There is no folder {path.parent} to write {path.name} into.", hint=hint)
    for path, suffix in ((svg, ".svg"), (png, ".png")):
        if path is not None and path.suffix.lower() != suffix:
            raise ConfigError(f"{path} does not end in {suffix}.", hint=f"--{suffix[1:]} writes {suffix} files.")


def _sources(texts: list[str]) -> list[str]:
    if texts != ["-"]:
        require_texts("TEXT", texts)
        return texts
    lines = list(read_lines(Path("-")))
    if not lines:
        raise ConfigError("There is no line on standard input.")
    return lines


def _map_name(trace: "Trace", kind: AttentionKind | None, layer: int | None) -> str:
    """Name the map that blocks and figures show; ConfigError where the model has no such layer."""
    if kind is None:
        there = {shown.kind for shown in trace.maps}
        usual = (AttentionKind.cross, AttentionKind.reader, AttentionKind.encoder)
        kind = next((one for one in usual if _MAPS[one].replace(".{}", "") in there), None)
    if kind is None:
        raise ConfigError("This model has no attention to show.", hint="What it says: heedful translate MODEL.")
    layers = [shown.layer for shown in trace.maps if shown.name == _MAPS[kind].format(shown.layer)]
    if not layers:
        raise ConfigError(f"This model has no {kind.value} attention.", hint=f"It has {_names(trace)}.")
    if layer is not None and layer not in layers:
        raise ConfigError(f"`--layer` must be 0 to {max(layers)}, but is {layer}.", hint="Layers are counted from 0.")
    return _MAPS[kind].format(max(layers) if layer is None else layer)


def _names(trace: "Trace") -> str:
    return ", ".join(shown.name for shown in trace.maps) or "none"


def _head(trace: "Trace", name: str, head: str | None) -> "Head | None":
    last = trace.map(name).n_heads - 1
    if head is None or head == "mean":
        return head
    if not (head.isdecimal() and len(head) < 10) or int(head) > last:
        raise ConfigError(f"`--head` must be 0 to {last} or mean, but is {head:.40}.", hint="Heads are counted from 0.")
    return int(head)


def _write_page(path: Path, traces: "list[Trace]", title: str) -> None:
    from heedful.inspection.page import page
    from heedful.text.output_files import write_output

    write_output(path, page(traces, title).encode())
    typer.echo(f"Wrote {path}: open it in any browser, it needs no network.", err=True)


def _write_figure(path: Path, trace: "Trace", name: str, head: "Head | None") -> None:
    from heedful.inspection.figure import save_figure

    save_figure(trace, name, list(range(trace.map(name).n_heads)) if head is None else [head], path)
    typer.echo(f"Wrote {path}.", err=True)


def _print_json(traces: "list[Trace]") -> None:
    from heedful.inspection.trace_json import trace_to_tree

    for trace in traces:
        print_json(trace_to_tree(trace))


def _print_blocks(traces: "list[Trace]", name: str, head: "Head") -> None:
    from rich.console import Console

    from heedful.inspection.terminal import blocks

    console = Console()
    colour = console.color_system == "truecolor" and not console.no_color
    for trace in traces:
        typer.echo(f"{' '.join(trace.source)}\n  ⇒ {' '.join(trace.predicted)}   log p {sum(trace.log_p):.3f}\n")
        typer.echo(blocks(trace, name, head, console.width, colour) + "\n")
