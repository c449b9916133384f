"""Made-up outputs and runs for the tests of evaluation."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heedful.evaluation.config import EvaluationConfig
from heedful.evaluation.evaluate import Evaluation, Occasion, evaluate, result_rows
from heedful.records.manifest import manifest_rows
from heedful.records.run import Run

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", ".", ",", "Mat"]


class Line(NamedTuple):
    """What a translator gives for a line."""

    text: str
    score: float


class Noisy:
    """A translator that copies its input but exchanges each word with some probability."""

    def __init__(self, noise: float, seed: int = 0) -> None:
        self._noise, self._random = noise, random.Random(seed)

    def translate(self, lines: Sequence[str], /) -> list[Line]:
        """Copies, with noise."""
        return [Line(" ".join(map(self._word, line.split())), -self._random.random()) for line in lines]

    def _word(self, word: str) -> str:
        return self._random.choice(WORDS) if self._random.random() < self._noise else word


class Fixed:
    """A translator that gives these outputs."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    def translate(self, lines: Sequence[str], /) -> list[Line]:
        """The given outputs, whatever the lines."""
        return [Line(text, -0.5) for text in self._texts]


def sentences(count: int, seed: int = 0) -> list[str]:
    """Random sentences of 1 to 14 words."""
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(1, 14))) for _ in range(count)]


def made_run(
    folder: Path,
    noise: float,
    *,
    count: int = 60,
    metrics: Sequence[str] = ("bleu", "wer"),
    seed: int = 1,
    data_seed: int = 0,
) -> tuple[Run, Evaluation]:
    """A complete run whose model copies with noise, evaluated on test."""
    sources = sentences(count, data_seed)
    config = EvaluationConfig.model_validate({"metrics": metrics, "bootstrap_samples": 100})
    found = evaluate(Noisy(noise, seed), sources, [[source] for source in sources], config, seed)
    run = Run.create(folder, f'seed = {seed}\n\n[data]\ncatalogue = "copy"\n', ["heedful", "train"])
    with run:
        for update in (10, 20, 30):
            run.log(
                "train", {"update": update, "seconds": 6.0 * update, "loss": 3 / update, "learning_rate": 1e-4 * update}
            )
        run.log(
            "validation", {"update": 30, "seconds": 180.0, "best": True, "loss": 0.2, "perplexity": 1.22, "wer": 40.0}
        )
        run.write_results(result_rows(found, Occasion(run.name, seed, "test", "best", "beam=5", 30, True)))
        run.write_errors(mistake.record() for mistake in found.errors)
        run.write_outputs("test", found.outputs)
        run.write_manifest(manifest_rows("test", enumerate(zip(sources, sources, strict=True))))
    return run, found
