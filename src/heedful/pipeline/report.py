"""The report of a run with what only its model can show: attention pictures of right and of wrong outputs.

Knows no terminal.
"""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from heedful.decoding.translator import Translator
from heedful.evaluation.metrics import is_right
from heedful.evaluation.report import NextCommand, Picture, write_report
from heedful.inspection.labels import map_title, usual_map
from heedful.inspection.svg import trace_svg
from heedful.models.bundle import is_bundle
from heedful.pipeline.load import load
from heedful.records.compare import summarise
from heedful.records.outputs import Output
from heedful.records.run import Run
from heedful.trace import Trace

PICTURES_EACH = 4  # of wrong outputs, and of right ones
TRIED_EACH = 60  # outputs that are looked at for some that fit a picture
MOST_TOKENS = 40  # on each side of a picture
LONGEST_TEXT = 400  # characters of a line that is looked at


def report_run(
    folder: Path | str, output: Path | None = None, next_commands: Sequence[NextCommand] | None = None
) -> Path:
    """Write the report of a run, finished or not, and return where it is: `output`, or report.html in the run.

    Attention is drawn where the run has a model and stored outputs. Raises ConfigError where there is no run, and
    HeedfulError where its records or its model are damaged.
    """
    run = Run.open(folder)
    page = output or run.folder / "report.html"
    commands = following(run.folder) if next_commands is None else next_commands
    write_report(run, page, _pictures(run), commands)
    return page


def following(folder: Path) -> list[NextCommand]:
    """Return what one may do next with a run."""
    named = shlex.quote(str(folder))
    if not is_bundle(folder / "model"):
        return [NextCommand(f"heedful train --resume {named}", "go on with the training")]
    return [
        NextCommand(f"heedful translate {named} FILE", "translate lines of your own"),
        NextCommand(f'heedful inspect {named} "TEXT" --html attention.html', "see every layer and head, offline"),
        NextCommand(f"heedful compare {named} OTHER", "compare with another run by paired tests"),
    ]


def _pictures(run: Run) -> list[Picture]:
    """Draw the attention of wrong and of right outputs of the split that the report shows."""
    split = summarise(run).split
    if split is None or not is_bundle(run.bundle) or not (run.folder / "outputs" / f"{split}.jsonl").is_file():
        return []
    translator = load(run.folder)
    outputs = run.read_outputs(split)
    pictures: list[Picture] = []
    for right in (False, True):
        some = [item for item in outputs if is_right(item.output, item.references) is right]
        pictures += [picture for picture, _ in zip(_drawn(translator, some), range(PICTURES_EACH), strict=False)]
    return pictures


def _drawn(translator: Translator, items: Sequence[Output]) -> Iterator[Picture]:
    """Draw a picture for each of these outputs that is short enough for one, from all over them."""
    short = [item for item in items if len(item.source) <= LONGEST_TEXT and len(item.output) <= LONGEST_TEXT]
    for item in short[:: max(1, len(short) // TRIED_EACH)]:
        trace = translator.trace(item.source, item.output)
        name = usual_map(trace)
        if name is not None and _fits(trace):
            heads = trace.map(name).n_heads
            where = f"{map_title(name)}, {'its only head' if heads == 1 else f'mean of {heads} heads'}"
            yield Picture(item.source, item.output, item.references, trace_svg(trace, name), where)


def _fits(trace: Trace) -> bool:
    return len(trace.source) <= MOST_TOKENS and len(trace.predicted) <= MOST_TOKENS
