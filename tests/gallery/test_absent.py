"""Models that answer with words of their source: what their recipes need, and answers that no story holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.little import MEASURING

from heedful.errors import ConfigError
from heedful.gallery.reading.unanswerable import Unanswerable, absent_answers
from heedful.pipeline.prepare import prepare
from heedful.recipe.recipe import load_recipe
from heedful.tasks.task import EncodedCorpus

READER = (
    "model.kind=reader",
    "model.attention=over",
    "tokenizer.source.kind=words",
    "tokenizer.source.separator=|||",
    "training.label_smoothing=0",
    *(setting for setting in MEASURING if "search.beam" not in setting),
)
PAIRS = ["a b ||| c ||| what a\tb", "a ||| b ||| what d\td", "what\tc", "c ||| d ||| what\tc", "a ||| a\tb"]


def prepared(folder: Path, lines: list[str]) -> tuple[EncodedCorpus, list[Mapping[str, Any]]]:
    """With the same lines to train, and others as dev; and what it warned of."""
    (folder / "train.tsv").write_text("".join(f"{line}\n" for line in lines))
    (folder / "dev.tsv").write_text("a c ||| what\tc\n")
    files = (f"data.train=['{folder}/train.tsv']", f"data.dev=['{folder}/dev.tsv']")
    warnings: list[Mapping[str, Any]] = []

    def report(event: str, facts: Mapping[str, Any]) -> None:
        if event == "data warning":
            warnings.append(facts)

    return prepare(load_recipe(None, (*READER, *files)), folder / "data", report), warnings


def test_are_counted_and_said(tmp_path: Path) -> None:
    """The word of a question is none of the story; three of five answers are absent, and none of dev."""
    found, warnings = prepared(tmp_path, PAIRS)
    assert absent_answers(found.train) == Unanswerable(3, 2)
    assert absent_answers(found.dev) == Unanswerable(0, None)
    assert warnings[-1] == {
        "text": "train:2: the first of 3 answers, among 5, that no story holds.",
        "hint": 'They teach nothing and are never given; `kind = "memory"` answers with any word.',
    }


def test_where_all_are_there_nothing_is_said(tmp_path: Path) -> None:
    _, warnings = prepared(tmp_path, [PAIRS[0], PAIRS[3]])
    assert not any("no story holds" in warning["text"] for warning in warnings)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tokenizer.joint=false", "set tokenizer.joint = true and tokenizer.source.kind"),
        ("tokenizer.source.kind=characters", "so both sides need one vocabulary of words"),
        ("training.label_smoothing=0.1", "`training.label_smoothing` gives probability to every word"),
    ],
)
def test_what_the_recipe_needs(change: str, said: str) -> None:
    settings = [one for one in READER if one.split("=")[0] != "tokenizer.source.separator"]
    with pytest.raises(ConfigError) as caught:
        load_recipe(None, ("data.catalogue=copy", *settings, change))
    assert said in caught.value.message
