"""What a run shows beside its score: where the attention went, where the truth is known, and accuracy by length."""

from collections.abc import Callable, Sequence
from pathlib import Path

from heedful.data.tasks import task_pairs
from heedful.decoding.translator import Translator
from heedful.evaluation.metrics import is_right, metrics_for
from heedful.evaluation.score import measure
from heedful.recipe.load import load
from heedful.records.outputs import Output
from heedful.records.run import Run

ITEMS = 200  # test items whose attention is looked at
BUCKETS = 3  # of source lengths, with equally many items


def evidence_of(names: Sequence[str], folder: Path) -> dict[str, float]:
    """All that is asked for, of the finished run in `folder`."""
    found: dict[str, float] = {}
    for name in names:
        found |= {what: round(value, 4) for what, value in EVIDENCE[name](folder).items()}
    return found


def exact_by_length(folder: Path) -> dict[str, float]:
    """Per cent of outputs exactly right in each third of source lengths."""
    return _by_length(folder, lambda items: 100 * sum(is_right(i.output, i.references) for i in items) / len(items))


def bleu_by_length(folder: Path) -> dict[str, float]:
    """BLEU in each third of source lengths."""
    (bleu,) = metrics_for(["bleu"])

    def value(items: list[Output]) -> float:
        sums = measure(bleu, [item.output for item in items], [item.references for item in items]).sum(axis=0)
        return bleu.value(sums.tolist())

    return _by_length(folder, value)


def _by_length(folder: Path, value: Callable[[list[Output]], float]) -> dict[str, float]:
    run = Run.open(folder)
    split = next(row.split for row in run.read_results() if row.signature)
    items = sorted(run.read_outputs(split), key=lambda item: len(item.source.split()))
    found = {}
    for number in range(BUCKETS):
        part = items[number * len(items) // BUCKETS : (number + 1) * len(items) // BUCKETS]
        lengths = [len(item.source.split()) for item in part]
        found[f"{lengths[0]} to {lengths[-1]} words"] = value(part)
    return found


def reversal_alignment(folder: Path) -> dict[str, float]:
    """The share of letters of reversed strings at which the most attended place is the letter's own."""
    translator: Translator = load(folder)
    right = total = 0
    for pair in task_pairs("reverse", 1, "test", ITEMS):
        trace = translator.trace(pair.source, pair.target)
        read = [shown for shown in trace.maps if shown.kind == "decoder.cross"][-1].weights.mean(dim=0)
        n = len(pair.source.split())
        right += sum(int(read[t].argmax()) == n - 1 - t for t in range(n))
        total += n
    return {"alignment accuracy": right / total}


EVIDENCE: dict[str, Callable[[Path], dict[str, float]]] = {
    "exact by length": exact_by_length,
    "BLEU by length": bleu_by_length,
    "reversal alignment": reversal_alignment,
}
