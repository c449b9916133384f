"""Decoding side by side: the same weights, the same 1,000 sentences, greedy and beam 5, text in and text out.

The model is benchmarks/decoding_model.toml, which is trained once for at most eight minutes and kept, with its exports,
in benchmarks/cache. All maximise the sum of log-probabilities (no length penalty), an output has at most 50 tokens more
than its source, and batches hold 64 sentences of like length; Heedful's own batching is a line of its own. Loading is
counted for nobody, tokenising for everybody (all use the model's own tokeniser). Latencies are of 100 sentences one by
one, in the first round.

    python benchmarks/decoding.py [--data PATH/multi30k] [--model MODEL] [--rounds 3]
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu
from environments import python_of
from measure import (
    CACHE,
    HERE,
    SYSTEMS,
    ChildFailed,
    alternate,
    call,
    child,
    data_folder,
    pin,
    ratios,
    say,
    short_reason,
    spread,
)
from rows import Row, text_table

from heedful.config import read_toml
from heedful.data.config import DataConfig
from heedful.recipe.splits import load_split

SEARCHES = {"greedy": 1, "beam 5": 5}
REFERENCE = "Heedful, float32"
HEEDFUL = [sys.executable, "-m", "heedful.cli.app"]


class System(NamedTuple):
    """How one line of the table is run; an empty environment is Heedful's own."""

    environment: str
    program: str
    export: str = ""  # the target that it reads instead of the bundle
    batch: int = 64  # 0: it batches by itself
    options: Mapping[str, Any] = {}


SYSTEMS_OF_DECODING = {
    REFERENCE: System("", "heedful_decode.py"),
    "Heedful, float32, its own batches": System("", "heedful_decode.py", batch=0),
    "Heedful, float32, its own batches, shortlist": System("", "heedful_decode.py", "", 0, {"shortlist": True}),
    "Heedful, bfloat16, its own batches": System("", "heedful_decode.py", "", 0, {"precision": "bfloat16"}),
    "Heedful, int8, its own batches": System("", "heedful_decode.py", "", 0, {"precision": "int8"}),
    "Heedful with onnx": System("main", "heedful_decode.py", "onnx", batch=0),
    "Heedful with ctranslate2": System("main", "heedful_decode.py", "ctranslate2", batch=0),
    "Heedful with ctranslate2, shortlist": System("main", "heedful_decode.py", "ctranslate2", 0, {"shortlist": True}),
    "CTranslate2's own script": System("main", "ctranslate2_decode.py", "ctranslate2", 0, {"type": "float32"}),
    "CTranslate2's own script, int8": System("main", "ctranslate2_decode.py", "ctranslate2", 0, {"type": "int8"}),
    "Hugging Face generate": System("main", "huggingface_decode.py", "huggingface"),
    "fairseq": System("fairseq", "fairseq_decode.py"),
}
QUICK = (REFERENCE, "Heedful, float32, its own batches")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data_folder(parser)
    parser.add_argument("--model", type=Path, help="a bundle to decode with; left out: the one that is trained here")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS_OF_DECODING), choices=SYSTEMS_OF_DECODING)
    arguments = parser.parse_args()
    pin(arguments.threads)
    model = arguments.model or trained_model(arguments.data, arguments.threads)
    part = run(model, arguments.data, arguments.rounds, arguments.threads, arguments.systems, arguments.sentences)
    print(text_table(part["rows"]))
    for search, reasons in part["details"]["dropped"].items():
        for name, reason in reasons.items():
            print(f"{name}, {search}: dropped: {short_reason(reason)}")


def trained_model(data: str, threads: int) -> Path:
    """The bundle that is timed; trained on first use, and again when its recipe changes."""
    recipe = HERE / "decoding_model.toml"
    folder = CACHE / f"decoding-{hashlib.sha256(recipe.read_bytes()).hexdigest()[:8]}"
    if not (folder / "model").exists():
        say("training the model that decoding times ...")
        resume = ["--resume", str(folder)] if (folder / "config.resolved.toml").exists() else [str(recipe)]
        settings = [] if resume[0] == "--resume" else [f"run={folder}", f"data.folder={data}"]
        subprocess.run([*HEEDFUL, "train", *resume, *settings, f"training.threads={threads}"], check=True)
    return folder / "model"


def export_of(model: Path, target: str, lines: Path) -> Path:
    """The export of a bundle, made and compared with it on first use. Raises ChildFailed."""
    folder = model.parent / f"{model.name}-{target}"
    if not folder.exists():
        say(f"exporting to {target} ...")
        heedful = [python_of("main"), "-m", "heedful.cli.app"]  # where ctranslate2, onnx and transformers are
        call([*heedful, "export", str(model), str(folder), "--to", target, "--dev", str(lines)])
    return folder


def find_shortlist(model: Path) -> None:
    """Let the run of a bundle find its lexical shortlist, on first use; systems that want one fail where it cannot."""
    if not (model / "shortlist.toml").exists():
        say("finding a shortlist ...")
        try:
            call([*HEEDFUL, "shortlist", str(model.parent)])
        except ChildFailed as error:
            say(f"There is no shortlist: {error}")


def run(
    model: Path,
    data: str,
    rounds: int,
    threads: int,
    systems: Sequence[str] = tuple(SYSTEMS_OF_DECODING),
    sentences: int = 1000,
) -> dict[str, Any]:
    """Rows and details on test_2016, ready for JSON."""
    pairs = list(load_split(DataConfig(catalogue="multi30k-en-de", folder=data or None), "test"))[:sentences]
    return run_on(model, [p.source for p in pairs], [p.target for p in pairs], systems, rounds, threads)


def run_on(
    model: Path, sources: Sequence[str], references: Sequence[str], systems: Sequence[str], rounds: int, threads: int
) -> dict[str, Any]:
    """The same for any sentences."""
    rows: list[Row] = []
    details: dict[str, Any] = {"searches": {}, "bleu": {}, "dropped": {}}
    with tempfile.TemporaryDirectory() as scratch:
        lines = Path(scratch) / "lines"
        lines.write_text("".join(f"{line}\n" for line in sources), "utf-8")
        if any(SYSTEMS_OF_DECODING[name].options.get("shortlist") for name in systems):
            find_shortlist(model)  # before the exports, which take it along
        for search, beam in SEARCHES.items():

            def measure(name: str, number: int, beam: int = beam) -> dict[str, Any]:
                texts = Path(scratch) / "texts"
                system = SYSTEMS_OF_DECODING[name]
                asked = {
                    "bundle": str(model),
                    "export": str(export_of(model, system.export, lines)) if system.export else "",
                    "lines": str(lines),
                    "texts": str(texts),
                    "beam": beam,
                    "batch": system.batch,
                    "latency": min(100, len(sources)) if number == 0 else 0,
                    "threads": threads,
                    "options": _options(system, model),
                }
                python = python_of(system.environment) if system.environment else sys.executable
                found = child([python, str(SYSTEMS / system.program), json.dumps(asked)], threads)
                return {**found, "texts": texts.read_text("utf-8").splitlines()}

            found, dropped = alternate(systems, rounds, measure)
            bleu = {name: bleu_of(those[0]["texts"], references) for name, those in found.items()}
            rows += rows_of(search, found, bleu)
            details["bleu"][search] = bleu
            details["searches"][search] = {
                name: [{key: value for key, value in one.items() if key != "texts"} for one in those]
                for name, those in found.items()
            }
            details["dropped"][search] = dropped
    return {"rows": rows, "details": details}


def _options(system: System, model: Path) -> dict[str, Any]:
    """What a program must know besides; fairseq's cannot see the number of heads in the weights."""
    if system.environment == "fairseq":
        return {**system.options, "n_heads": read_toml(model / "recipe.toml").values["model"]["n_heads"]}
    return dict(system.options)


def bleu_of(texts: Sequence[str], references: Sequence[str]) -> float:
    """sacreBLEU of detokenised text."""
    return sacrebleu.corpus_bleu(list(texts), [list(references)]).score


def rows_of(search: str, found: Mapping[str, list[dict[str, Any]]], bleu: Mapping[str, float]) -> list[Row]:
    """Speed, agreement, BLEU and latency of every system; ratios are the reference's speed to theirs."""
    if REFERENCE not in found:
        return []
    speeds = {name: [one["sentences_per_second"] for one in those] for name, those in found.items()}
    texts = {name: those[0]["texts"] for name, those in found.items()}
    count = len(texts[REFERENCE])
    group = f"Decoding, {search}, {count:,} sentences (sentences/s; ratio: {REFERENCE} / system)"
    rows = []
    for name, those in found.items():
        equal = sum(a == b for a, b in zip(texts[name], texts[REFERENCE], strict=True)) / count
        note = f"BLEU {bleu[name]:.2f}; {equal:.1%} same texts"
        if latencies := those[0]["latencies_ms"]:
            cut = statistics.quantiles(latencies, n=20, method="inclusive")
            note += f"; one by one p50 {statistics.median(latencies):.1f}, p95 {cut[-1]:.1f} ms"
        rows.append(Row(group, name, spread(speeds[name]), ratios(speeds[REFERENCE], speeds[name]), note))
    return rows


def quick(model: Path) -> dict[str, Any]:
    """Heedful alone on a few made-up lines."""
    lines = ["a man walks his dog", "two children play with a red ball", "the river"] * 3
    return run_on(model, lines, lines, QUICK, rounds=1, threads=1)


if __name__ == "__main__":
    main()
