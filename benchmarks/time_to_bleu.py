"""BLEU against the clock: Heedful and Marian's C++ trainer at the same time, each on one core with one thread.

Multi30k en-de by the published protocol (multi-BLEU of lower-cased, Moses-tokenised text). Heedful runs its recipe as
it stands, from raw text; Marian (PyPI `pymarian`) has the same sizes, vocabulary size, dropout, smoothing, batch and
peak learning rate, its own SentencePiece and, for want of a linear schedule, the inverse square root with averaged
weights; it is given lower-cased text. Both decode the whole dev set greedily every 250 updates, and that counts; test
is decoded with beam 5 at the end: Heedful's averaged checkpoint, Marian's best on dev. The clock starts with the
processes, data preparation included, and stops both after --minutes.

    python benchmarks/time_to_bleu.py [--data PATH/multi30k] [--minutes 40] [--updates 6000]

Writes results/time_to_bleu.{csv,svg,json}, which benchmarks/run shows with their date.
"""

import argparse
import csv
import datetime
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from environments import python_of
from measure import CACHE, ROOT, SYSTEMS, Spread, data_folder, say
from picture import draw_curves
from results import TIME_TO_BLEU
from rows import Row, text_table

from heedful.data.config import DataConfig
from heedful.decoding.translation import Translation
from heedful.evaluation.config import EvaluationConfig
from heedful.evaluation.evaluate import evaluate
from heedful.evaluation.score import Score
from heedful.pipeline.evaluate_split import TestSet, read_test_set
from heedful.recipe.splits import load_split
from heedful.records.environment import describe_environment

RECIPE = ROOT / "recipes" / "multi30k-en-de.toml"
HEEDFUL = [sys.executable, "-m", "heedful.cli.app"]
WORK = CACHE / "time-to-bleu"
EVERY = 250  # updates between looks at dev
AIM = 38.0
SCORING = EvaluationConfig(metrics=("multi-bleu",), postprocess="moses-lowercase", language="de")


class Point(NamedTuple):
    """A look at dev."""

    minutes: float
    update: int
    bleu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data_folder(parser)
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--updates", type=int, default=6000, help="of Heedful's schedule, whose rate falls to zero")
    parser.add_argument("--every", type=int, default=EVERY, help="updates between validations")
    parser.add_argument("--output", type=Path, default=TIME_TO_BLEU, help="the .json; .csv and .svg stand beside it")
    arguments = parser.parse_args()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    data = DataConfig(catalogue="multi30k-en-de", folder=arguments.data or None)
    dev, test = read_test_set(data, "dev"), read_test_set(data, "test")
    python_of("marian")
    write_lower(data, WORK)
    clocks = run_both(arguments.data, arguments.minutes, arguments.updates, arguments.every)
    curves = {"Heedful": heedful_curve(clocks["Heedful"]), "Marian C++": marian_curve(clocks["Marian C++"], dev)}
    scores = {"Heedful": heedful_test(test), "Marian C++": marian_test(test)}
    store(arguments.output, arguments.minutes, curves, scores)


def write_lower(data: DataConfig, folder: Path) -> None:
    """Lower-cased text files for Marian; Heedful's recipe lower-cases by itself."""
    for split in ("train", "dev", "test"):
        for side, column in (("en", 0), ("de", 1)):
            lines = (pair[column].lower() for pair in load_split(data, split))
            (folder / f"{split}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def run_both(data: str, minutes: float, updates: int, every: int) -> dict[str, float]:
    """Train both until the clock ends; returns when each was started, in seconds since the epoch."""
    settings = [f"run={WORK / 'run'}", f"data.folder={data}", "training.threads=1", f"training.validate_every={every}"]
    # Intervals of every look at dev would cost more than the look; test gets its interval at the end.
    settings += [f"training.max_updates={updates}", "evaluation.dev_sentences=1014", "evaluation.bootstrap_samples=1"]
    commands = {
        "Heedful": [*HEEDFUL, "train", str(RECIPE), *settings],
        "Marian C++": marian("train", options=marian_training(every)),
    }
    cores = sorted(os.sched_getaffinity(0))
    started: dict[str, float] = {}
    running: dict[str, subprocess.Popen] = {}
    for (name, command), core in zip(commands.items(), cores, strict=False):
        log = (WORK / f"{name.split()[0]}.log").open("w")
        started[name] = time.time()
        running[name] = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            preexec_fn=lambda core=core: os.sched_setaffinity(0, {core}),
        )
    end = max(started.values()) + 60 * minutes
    while time.time() < end and any(process.poll() is None for process in running.values()):
        time.sleep(1)
    for process in running.values():
        if process.poll() is None:
            process.terminate()  # both write a checkpoint and end
    for name, process in running.items():
        process.wait(timeout=600)
        say(f"{name} ended with {process.returncode}")
    return started


def marian_training(every: int) -> dict[str, Any]:
    """Marian's options: the sizes of the preset multi30k-tiny."""
    return {
        "type": "transformer",
        "model": WORK / "marian.npz",
        "train-sets": f"{WORK / 'train.en'} {WORK / 'train.de'}",
        "vocabs": f"{WORK / 'joint.spm'} {WORK / 'joint.spm'}",
        "dim-vocabs": "6000 6000",
        "sentencepiece-options": "--model_type=bpe",
        "cpu-threads": 1,
        "workspace": 2000,
        "dim-emb": 128,
        "transformer-dim-ffn": 256,
        "transformer-heads": 4,
        "enc-depth": 4,
        "dec-depth": 4,
        "transformer-preprocess": "n",
        "transformer-postprocess": "da",
        "transformer-postprocess-top": "n",
        "transformer-ffn-activation": "relu",
        "transformer-dropout": 0.2,
        "tied-embeddings-all": "",
        "label-smoothing": 0.1,
        "mini-batch": 10_000,
        "mini-batch-words": 4096,
        "max-length": 256,
        "learn-rate": 0.003,
        "lr-warmup": 500,
        "lr-decay-inv-sqrt": 500,
        "optimizer-params": "0.9 0.98 1e-8",
        "clip-norm": 1,
        "exponential-smoothing": 0.0005,
        "valid-sets": f"{WORK / 'dev.en'} {WORK / 'dev.de'}",
        "valid-metrics": "bleu",
        "valid-freq": f"{every}u",
        "valid-translation-output": WORK / "dev.{U}.out",
        "beam-size": 1,
        "keep-best": "",
        "early-stopping": 0,
        "quiet-validation": "",
        "quiet-translation": "",
        "disp-freq": 50,
        "seed": 1,
    }


def marian(work: str, options: dict[str, Any], lines: Path | None = None, texts: Path | None = None) -> list[str]:
    """The command that runs pymarian."""
    asked = {"work": work, "options": {name: str(value) for name, value in options.items()}}
    files = {"lines": str(lines), "texts": str(texts)}
    return [python_of("marian"), str(SYSTEMS / "marian_clock.py"), json.dumps({**asked, **files})]


def heedful_curve(started: float) -> list[Point]:
    """Validations from the run's log."""
    points = []
    for line in (WORK / "run" / "log.jsonl").read_text().splitlines():
        facts = json.loads(line)
        if facts["event"] == "validation":
            when = datetime.datetime.fromisoformat(facts["time"]).timestamp()
            points.append(Point((when - started) / 60, facts["update"], facts["multi-bleu"]))
    return points


def marian_curve(started: float, dev: TestSet) -> list[Point]:
    """The dev outputs that it left, scored by the same code; a file's time is when it was written."""
    points = []
    for path in WORK.glob("dev.*.out"):
        texts = path.read_text("utf-8").splitlines()
        if len(texts) == len(dev.sources):
            update = int(path.name.split(".")[1])
            points.append(Point((path.stat().st_mtime - started) / 60, update, score(texts, dev).value))
    return sorted(points)


class Given:
    """Outputs that are there already, in the shape of a translator."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """One output a line."""
        return [Translation(text, 0.0, [], [], []) for text in self.texts]


def score(texts: Sequence[str], items: TestSet) -> Score:
    """Multi-BLEU with its interval, by the code that `heedful evaluate` uses."""
    split, sources, references, tokenised = items
    found = evaluate(Given(texts), sources, references, SCORING, 1, split=split, tokenised_references=tokenised)
    return found.scores[0]


def heedful_test(test: TestSet) -> Score:
    """Beam 5 with the mean of the last checkpoints, whether training came to its end or not."""
    subprocess.run([*HEEDFUL, "average", str(WORK / "run"), "--force"], check=True)
    done = subprocess.run(
        [*HEEDFUL, "translate", str(WORK / "run"), str(WORK / "test.en")], check=True, capture_output=True, text=True
    )
    return score(done.stdout.splitlines(), test)


def marian_test(test: TestSet) -> Score:
    """Beam 5 with the best model on dev."""
    options = {
        "models": WORK / "marian.npz.best-bleu.npz",
        "vocabs": f"{WORK / 'joint.spm'} {WORK / 'joint.spm'}",
        "cpu-threads": 1,
        "beam-size": 5,
        "normalize": 0.6,
        "mini-batch": 64,
        "maxi-batch": 100,
        "quiet": "",
    }
    subprocess.run(marian("translate", options, WORK / "test.en", WORK / "test.out"), check=True)
    return score((WORK / "test.out").read_text("utf-8").splitlines(), test)


def store(path: Path, minutes: float, curves: dict[str, list[Point]], scores: dict[str, Score]) -> None:
    """The JSON with rows, the curves as CSV and as a picture."""
    group = f"Time to BLEU, Multi30k en-de, {minutes:g} minutes on one core each (multi-BLEU of test_2016: interval)"
    date = datetime.date.today().isoformat()
    rows = []
    for name, found in scores.items():
        reached = next((f"after {point.minutes:.1f} minutes" for point in curves[name] if point.bleu >= AIM), "never")
        best = max((point.bleu for point in curves[name]), default=0.0)
        note = f"dev, greedy: best {best:.1f}, {AIM:g} {reached}; measured {date}"
        rows.append(Row(group, name, Spread(found.low, found.value, found.high), None, note))
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = describe_environment()
    kept = {"date": date, "machine": machine, "minutes": minutes, "rows": rows, "curves": curves}
    path.write_text(json.dumps(kept, indent=1) + "\n")
    with path.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["system", *Point._fields])
        writer.writerows([name, *point] for name, points in curves.items() for point in points)
    lines = {name: [(point.minutes, point.bleu) for point in points] for name, points in curves.items()}
    draw_curves(lines, path.with_suffix(".svg"))
    print(text_table(rows))


if __name__ == "__main__":
    main()
