"""Options that say how outputs are found, and that several verbs share; each is written once."""

from pathlib import Path
from typing import Annotated

import typer

Output = Annotated[Path | None, typer.Option(help="Write here, whole or not at all, instead of standard output.")]
NBest = Annotated[int, typer.Option(min=1, help="Print so many outputs a line: number, rank, score, text, by tabs.")]

Prefix = Annotated[str | None, typer.Option(help="Every output must begin with this.")]
Require = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="Every output must hold this; may be given again.")
]
Forbid = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="No output may hold this; may be given again.")]
InputFormat = Annotated[
    str,
    typer.Option(
        metavar="text|tsv|jsonl",
        help="tsv: source, then phrases that its output must hold; jsonl: source, prefix, require, forbid.",
    ),
]

Beam = Annotated[int | None, typer.Option(min=1, help="Beams; 1 is greedy.")]
LengthPenalty = Annotated[float | None, typer.Option(min=0, help="Alpha of the length penalty.")]
Temperature = Annotated[float | None, typer.Option(help="Sample at this temperature instead of searching.")]
TopK = Annotated[int | None, typer.Option(min=1, help="Sample among the k most probable tokens.")]
TopP = Annotated[float | None, typer.Option(help="Sample among the fewest tokens with this much probability.")]
Epsilon = Annotated[float | None, typer.Option(help="Sample among the tokens of at least this probability.")]
Seed = Annotated[int | None, typer.Option(help="Of sampling.")]
Mbr = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Of N samples, the output that the others agree with most.")
]
MbrCandidates = Annotated[str | None, typer.Option(metavar="samples|beam|both", help="What MBR chooses among.")]
MbrUtility = Annotated[
    str | None, typer.Option(metavar="chrf|bleu|edit|edit-characters", help="By what MBR measures agreement.")
]
NoRepeatNgram = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="No N tokens stand in an output twice in the same order.")
]
Shortlist = Annotated[
    bool, typer.Option("--shortlist", help="Only tokens that `heedful shortlist` found likely: faster.")
]

Ensemble = Annotated[
    list[Path] | None, typer.Option(metavar="MODEL", help="Average with this model; may be given again.")
]
EnsembleMean = Annotated[
    str | None, typer.Option(metavar="arithmetic|geometric", help="Of probabilities (the default), or of logarithms.")
]

Engine = Annotated[
    str | None,
    typer.Option(metavar="native|ctranslate2|onnx", help="What computes; left out: native, or an export's own."),
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--type", metavar="float32|int8|bfloat16|auto", help="What it computes in; auto: the quickest, measured."
    ),
]
