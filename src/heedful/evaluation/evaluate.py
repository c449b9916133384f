"""The one way by which outputs are made and scored: validations during training and `heedful evaluate` both go it.

Knows a translator only as something that turns lines into texts with scores.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from heedful.errors import ConfigError
from heedful.evaluation.config import EvaluationConfig
from heedful.evaluation.metric import Metric
from heedful.evaluation.metrics import metrics_for
from heedful.evaluation.mistakes import Mistake, find_mistakes
from heedful.evaluation.postprocess import describe, tokenise
from heedful.evaluation.score import Score, measure, score
from heedful.evaluation.significance import Matrix
from heedful.records.manifest import data_hash, item_id
from heedful.records.outputs import Output
from heedful.records.results import Result
from heedful.records.run import Run
from heedful.records.signature import Signature

References = Sequence[Sequence[str]]


class Translated(Protocol):
    """One output line and its score."""

    @property
    def text(self) -> str:
        """The output line."""
        ...

    @property
    def score(self) -> float:
        """Score by which search ranked the output."""
        ...


class Translating(Protocol):
    """Translator of lines: one output for each."""

    def translate(self, lines: list[str], /) -> Sequence[Translated]:
        """Return one output for each line, in order."""
        ...


class Evaluation(NamedTuple):
    """Result of an evaluation. `data_hash` is of sources and references; `seconds` is the time of translating."""

    scores: list[Score]
    outputs: list[Output]
    errors: list[Mistake]
    data_hash: str
    seconds: float

    def value(self, metric: str) -> float:
        """Return the value of one of the metrics, by its name."""
        return next(found.value for found in self.scores if found.metric == metric)


class Occasion(NamedTuple):
    """Facts about an evaluation that results.csv records."""

    run: str
    seed: int
    split: str
    checkpoint: str
    decode: str
    update: int
    chosen: bool


def evaluate(
    translator: Translating,
    sources: Sequence[str],
    references: References,
    config: EvaluationConfig,
    seed: int,
    *,
    split: str = "test",
    tokenised_references: References | None = None,
) -> Evaluation:
    """Translate the sources and score the outputs by every configured metric. `references[i]` holds all right targets.

    `multi-bleu` reads outputs after `config.postprocess`, against `tokenised_references` as they are, or, without
    these, against the references after the same postprocessing.
    Raises ValueError where sources and references do not match, ConfigError as `check_references` does.
    """
    if len(sources) != len(references):
        raise ValueError(
            f"`references` must have an entry for each of the {len(sources)} sources, but has {len(references)}."
        )
    metrics = metrics_for(config.metrics, describe(config, given=tokenised_references is not None))
    check_references(metrics, references, split)
    started = time.perf_counter()
    translations = translator.translate(list(sources))
    seconds = time.perf_counter() - started
    assert len(translations) == len(sources), "a translator gives one output for each line"
    outputs = [
        Output(item_id(split, i), source, list(targets), translation.text, translation.score)
        for i, (source, targets, translation) in enumerate(zip(sources, references, translations, strict=True))
    ]
    if any(metric.reads_tokenised for metric in metrics):
        outputs = _with_tokenised(outputs, config, tokenised_references)
    statistics = [item_statistics(metric, outputs) for metric in metrics]
    scores = [
        score(metric, matrix, references, config.bootstrap_samples, seed)
        for metric, matrix in zip(metrics, statistics, strict=True)
    ]
    measures = {
        metric.name: [metric.value(row) for row in matrix.tolist()]
        for metric, matrix in zip(metrics, statistics, strict=True)
    }
    return Evaluation(scores, outputs, find_mistakes(outputs, measures), data_hash(sources, references), seconds)


def check_references(metrics: Sequence[Metric], references: References, split: str) -> None:
    """Check that each metric has something to count in the references of this split. Raises ConfigError."""
    for metric in metrics:
        validation_error = metric.validation_error(references)
        if validation_error is not None:
            hint = "Choose another metric: evaluation.metrics."
            raise ConfigError(f"{split}: {metric.name} {validation_error}.", hint=hint)


def item_statistics(metric: Metric, outputs: Sequence[Output]) -> Matrix:
    """Compute the statistics of stored outputs, [n items, k statistics], from the texts that the metric reads.

    Raises ValueError where it reads tokenised texts and there are none.
    """
    sources = [item.source for item in outputs]
    if not metric.reads_tokenised:
        return measure(metric, [item.output for item in outputs], [item.references for item in outputs], sources)
    texts, targets = [], []
    for item in outputs:
        if item.tokenised_output is None or item.tokenised_references is None:
            raise ValueError(f"`outputs` must hold tokenised texts for {metric.name}, but {item.id} has none.")
        texts.append(item.tokenised_output)
        targets.append(item.tokenised_references)
    return measure(metric, texts, targets, sources)


def result_rows(evaluation: Evaluation, occasion: Occasion) -> list[Result]:
    """Return the scores as rows of results.csv, each under its full signature."""
    return [
        Result(
            run=occasion.run,
            seed=occasion.seed,
            split=occasion.split,
            metric=found.metric,
            value=found.value,
            ci_low=found.low,
            ci_high=found.high,
            n=found.n,
            signature=str(_signature(evaluation, occasion, found)),
            checkpoint=occasion.checkpoint,
            decode=occasion.decode,
            seconds=round(evaluation.seconds, 3),
            update=occasion.update,
            chosen=occasion.chosen,
        )
        for found in evaluation.scores
    ]


def keep(run: Run, evaluation: Evaluation, occasion: Occasion) -> None:
    """Store an evaluation with its run: outputs, results and errors, in place of older ones of the same split."""
    run.write_outputs(occasion.split, evaluation.outputs)
    run.add_results(result_rows(evaluation, occasion))
    run.add_errors(occasion.split, [mistake.record() for mistake in evaluation.errors])


def _signature(evaluation: Evaluation, occasion: Occasion, found: Score) -> Signature:
    return Signature(
        evaluation.data_hash, occasion.split, occasion.decode, occasion.seed, found.metric, found.signature
    )


def _with_tokenised(outputs: list[Output], config: EvaluationConfig, given: References | None) -> list[Output]:
    """Add the texts of the tokenised protocol to the outputs."""
    texts = tokenise([item.output for item in outputs], config)
    targets = [tokenise(item.references, config) for item in outputs] if given is None else given
    if len(targets) != len(outputs):
        raise ValueError(f"`tokenised_references` must have {len(outputs)} entries, but has {len(targets)}.")
    return [
        item._replace(tokenised_output=text, tokenised_references=[reference.strip() for reference in references])
        for item, text, references in zip(outputs, texts, targets, strict=True)
    ]
