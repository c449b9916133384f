"""The demonstration: spelling to sound on the embedded dictionary, trained, scored and explained within minutes.

Knows no terminal: `heedful.cli.demo` prints what this finds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.config import Layer
from heedful.decoding.translation import Translation
from heedful.decoding.translator import Translator
from heedful.errors import ConfigError
from heedful.evaluation.report import NextCommand
from heedful.inspection.terminal import blocks
from heedful.pipeline.load import load
from heedful.pipeline.prepare import Report
from heedful.pipeline.report import report_run
from heedful.pipeline.speed import benchmark_precisions
from heedful.pipeline.train import train
from heedful.recipe.recipe import Recipe, resolve_recipe, stored_recipe
from heedful.records.outputs import Output
from heedful.records.results import Result
from heedful.records.run import Run

SYMBOLS = (40, 45)  # letters and phones of the dictionary, roughly: enough to measure the machine's speed
LENGTHS = (8, 7)  # a typical word
WORDS_SHOWN = 10

RECIPE: Mapping[str, Any] = {
    "preset": "character",
    "seed": 1,
    "data": {"catalogue": "cmudict"},
    "tokenizer": {"target": {"kind": "words"}},
    "model": {"dropout": 0.0},  # six epochs are too few to learn anything by heart
    "training": {"log_every": 10},
    "search": {"beam": 4},
    "evaluation": {"metrics": ["wer", "per"]},
}


@dataclass(frozen=True)
class ShownOutput:
    """One word as the terminal shows it: its pronunciations, best first, and what was read for each phone."""

    word: str
    references: list[str]
    found: Translation
    picture: str


@dataclass(frozen=True)
class Demo:
    """Result of the demonstration, and where it lies."""

    folder: Path
    report: Path
    results: list[Result]  # the final scores on held-out words
    training_seconds: float
    trained_now: bool
    words: list[ShownOutput]
    next_commands: list[NextCommand]


def demo(folder: Path, max_minutes: float, command: Sequence[str], report: Report) -> Demo:
    """Train for at most `max_minutes`, score the held-out words, and write report.html.

    A run that is there already is finished if it was interrupted, and otherwise only shown again.
    """
    begun = (folder / "config.resolved.toml").is_file()
    if begun and stored_recipe(folder).data.catalogue != RECIPE["data"]["catalogue"]:
        raise ConfigError(f"{folder} holds a run of another recipe.", hint="Choose another directory: --run NAME.")
    done = begun and Run.open(folder).state() == "complete"
    if not done:
        recipe = stored_recipe(folder) if begun else demo_recipe(max_minutes)
        train(recipe, folder, resume=begun, command=command, report=report)
    run = Run.open(folder)
    translator = load(folder)
    outputs = run.read_outputs("test")
    next_commands = _next_commands(folder)
    page = report_run(folder, next_commands=next_commands)
    seconds = run.read_log("ended")[-1]["seconds"]
    final = [row for row in run.read_results() if row.split == "test"]
    return Demo(folder, page, final, seconds, not done, _shown(translator, outputs), next_commands)


def demo_recipe(max_minutes: float) -> Recipe:
    """Make the recipe for this machine: the precision that is faster here, and as many updates as fit into the time."""
    draft = resolve_recipe([Layer("the demo", dict(RECIPE))]).config
    found = benchmark_precisions(draft, *SYMBOLS, LENGTHS, max_minutes)
    fitted = {
        "max_minutes": max_minutes,
        "max_updates": found.max_updates,
        "warmup_steps": max(1, found.max_updates // 10),
        "precision": found.precision,
        "validate_every": max(1, found.max_updates // 6),
    }
    return resolve_recipe([Layer("the demo", dict(RECIPE)), Layer("this machine", {"training": fitted})]).config


def _shown(translator: Translator, outputs: Sequence[Output]) -> list[ShownOutput]:
    """Choose words from all over the held-out ones, the same every time."""
    chosen = outputs[:: max(1, len(outputs) // WORDS_SHOWN)][:WORDS_SHOWN]
    found = translator.translate([item.source for item in chosen], n_best=3)
    last = f"decoder.{stored_layers(translator) - 1}.cross"
    return [
        ShownOutput(item.source, item.references, one, blocks(translator.trace(item.source, one.text), last))
        for item, one in zip(chosen, found, strict=True)
    ]


def stored_layers(translator: Translator) -> int:
    """Return the number of decoder layers, as a trace shows it."""
    return sum(m.kind == "decoder.cross" for m in translator.trace("a").maps)


def _next_commands(folder: Path) -> list[NextCommand]:
    return [
        NextCommand(f"echo heedful | heedful translate {folder} --n-best 3", "pronounce a word of your own"),
        NextCommand(f"heedful inspect {folder} attention --html attention.html", "see every layer and head, offline"),
        NextCommand(
            "heedful init --preset character --train words.txt phones.txt --dev dev.words dev.phones",
            "begin with your own pairs",
        ),
    ]
