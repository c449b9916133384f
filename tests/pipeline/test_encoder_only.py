"""A model without a decoder on the main road: trained, scored, asked, inspected, and refused where it cannot go."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import TRAINING, WORDS

from heedful.errors import ConfigError, HeedfulError
from heedful.models.bundle import load_bundle
from heedful.pipeline.load import load, load_ensemble
from heedful.pipeline.shortlist import make_shortlist
from heedful.pipeline.train import dry_run, train
from heedful.recipe.recipe import Recipe, load_recipe

TAGGER = (
    "model.kind=tagger",
    "model.encoder=gru",
    "model.d_model=16",
    "model.d_hidden=16",
    "tokenizer.joint=false",
    "evaluation.metrics=['accuracy', 'exact']",
    "evaluation.dev_sentences=8",
    "evaluation.bootstrap_samples=20",
    "training.select=accuracy",
    "training.max_updates=150",
    "training.learning_rate=0.02",
)
RULE = {"a": "VOWEL", "e": "VOWEL", "b": "STOP", "d": "STOP", "m": "NASAL"}


def write_tagged(folder: Path, broken: int | None = None) -> list[str]:
    """The letters of numbers in base five, and what kind each is; the last of a sentence is LAST. The `broken` number
    lacks a label.
    """
    folder.mkdir()
    settings = []
    for split, numbers in (("train", range(100, 300)), ("dev", range(300, 312)), ("test", range(312, 324))):
        lines = []
        for number in numbers:
            letters = [list(RULE)[number // 5**place % 5] for place in range(4)]
            labels = [*(RULE[letter] for letter in letters[:-1]), "LAST"]
            lines.append(f"{' '.join(letters)}\t{' '.join(labels[number == broken :])}\n")
        path = folder / f"{split}.tsv"
        path.write_text("".join(lines))
        settings.append(f"data.{split}=['{path}']")
    return settings


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tagger")
    recipe: Recipe = load_recipe(None, [*write_tagged(folder / "data"), *TRAINING, *WORDS, *TAGGER])
    return train(recipe, folder / "run").run


def test_learns_the_rule(run: Path, heedful: Callable) -> None:
    outcome = heedful("evaluate", str(run), "--json")
    assert outcome.code == 0
    assert load(run).translate(["a e m b"])[0].text == "VOWEL VOWEL NASAL LAST"


def test_one_line_in_one_line_out(run: Path) -> None:
    lines = ["a b m", "", "zz a b d", "a"]
    texts = [one.text for one in load(run).translate(lines)]
    assert [len(text.split()) for text in texts] == [3, 0, 4, 1]
    assert texts == [load(run).translate([line])[0].text for line in lines]


def test_the_best_few_and_their_scores(run: Path) -> None:
    translator = load(run)
    (found,) = translator.translate(["a b"], n_best=3)
    assert len(found.n_best) == 3
    (scored,) = translator.score(["a b"], [found.n_best[1].text])
    assert scored.log_p == pytest.approx(found.n_best[1].log_p, abs=1e-4)
    assert found.n_best[0].log_p >= found.n_best[1].log_p >= found.n_best[2].log_p


def test_what_cannot_be_asked(run: Path, heedful: Callable) -> None:
    outcome = heedful("inspect", str(run), "a b")
    assert "This model has no attention to show." in outcome.err
    with pytest.raises(ConfigError, match="Prefixes and constraints need a decoder, but this model is encoder-only"):
        load(run).translate(["a"], prefixes=["VOWEL"])
    with pytest.raises(ConfigError, match="An ensemble needs a decoder"):
        load_ensemble(run, [run])
    assert load_bundle(run / "model").recipe["model"]["kind"] == "tagger"


@pytest.mark.parametrize(
    ("broken", "where"), [(117, "training pair does"), (301, "dev pair does"), (314, "test pair does")]
)
def test_one_label_a_position_is_looked_at_before_training(tmp_path: Path, broken: int, where: str) -> None:
    recipe = load_recipe(None, [*write_tagged(tmp_path / "data", broken), *TRAINING, *WORDS, *TAGGER])
    number = {117: 18, 301: 2, 314: 3}[broken]
    message = f"1 {where} not have one label a position; the first is pair {number}: 4 positions, 3 labels"
    with pytest.raises(ConfigError, match=message):
        dry_run(recipe, tmp_path / "run")


def test_one_label_a_position_in_files_that_are_scored(run: Path, tmp_path: Path, heedful: Callable) -> None:
    (tmp_path / "x").write_text("a b\na e m\n")
    (tmp_path / "y").write_text("VOWEL LAST\nVOWEL LAST\n")
    outcome = heedful("evaluate", str(run), "--source", str(tmp_path / "x"), "--reference", str(tmp_path / "y"))
    assert (outcome.code, outcome.out) == (2, "")
    assert "1 x pair does not have one label a position; the first is pair 2: 3 positions, 2 labels." in outcome.err


@pytest.mark.parametrize("settings", [["evaluation.dev_sentences=8"], ["evaluation.dev_sentences=0"]])
def test_a_metric_of_spans_needs_spans(tmp_path: Path, settings: list[str]) -> None:
    files = write_tagged(tmp_path / "data")
    spans = ["evaluation.metrics=['span-f1']", "training.select=loss", *settings]
    recipe = load_recipe(None, [*files, *TRAINING, *WORDS, *TAGGER, *spans])
    split = "test" if settings[0].endswith("=0") else "dev"
    with pytest.raises(ConfigError, match=rf"{split}: span-f1 counts spans of BIO labels .*, and no target has one"):
        dry_run(recipe, tmp_path / "run")


def test_how_it_was_decoded(run: Path) -> None:
    """No beam, and no length penalty, which had no part in it."""
    results = (run / "results.csv").read_text()
    assert "decode:one-pass|" in results
    assert "beam" not in results


def test_a_label_of_dev_that_training_lacks_is_said(tmp_path: Path) -> None:
    files = write_tagged(tmp_path / "data")
    dev = tmp_path / "data" / "dev.tsv"
    dev.write_text(dev.read_text().replace("LAST", "LATS", 2))
    found = warned(load_recipe(None, [*files, *TRAINING, *WORDS, *TAGGER]), tmp_path / "run")
    assert "dev:1: the first of 2 pairs, among 12, with a label that no training pair has." in found


def warned(recipe: Recipe, folder: Path) -> list[str]:
    """What a dry run warns of."""
    texts: list[str] = []
    dry_run(recipe, folder, lambda event, facts: texts.append(facts["text"]) if event == "data warning" else None)
    return texts


def test_a_label_of_test_that_training_lacks_is_said(tmp_path: Path) -> None:
    files = write_tagged(tmp_path / "data")
    test = tmp_path / "data" / "test.tsv"
    lines = test.read_text().splitlines(keepends=True)
    test.write_text("".join([lines[0], lines[1].replace("LAST", "LATS"), *lines[2:]]))
    found = warned(load_recipe(None, [*files, *TRAINING, *WORDS, *TAGGER]), tmp_path / "run")
    assert "test:2: the first of 1 pair, among 12, with a label that no training pair has." in found


@pytest.mark.parametrize("split", ["dev", "test"])
def test_labels_of_another_task(tmp_path: Path, split: str) -> None:
    files = write_tagged(tmp_path / "data")
    path = tmp_path / "data" / f"{split}.tsv"
    recipe = load_recipe(None, [*files, *TRAINING, *WORDS, *TAGGER])
    path.write_text(path.read_text().replace("LAST", "END"))  # in each pair one of four
    assert any(f"{split}:1: the first of 12 pairs, among 12" in text for text in warned(recipe, tmp_path / "run"))
    path.write_text(re.sub("[A-Z]+", "END", path.read_text()))
    with pytest.raises(ConfigError, match=f"{split}: training has none of the labels of its 12 pairs"):
        dry_run(recipe, tmp_path / "run")


def test_a_vocabulary_without_room_for_all_labels(tmp_path: Path) -> None:
    files = [*write_tagged(tmp_path / "data"), "tokenizer.target.kind=words", "tokenizer.target.vocab_size=5"]
    with pytest.raises(
        ConfigError, match="train:1: the first of 200 pairs, among 200, with a label for which"
    ) as caught:
        dry_run(load_recipe(None, [*files, *TRAINING, *WORDS, *TAGGER]), tmp_path / "run")
    assert caught.value.hint == "Raise tokenizer.target.vocab_size: the vocabulary has 5 symbols."


def test_a_label_is_a_word(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'words of their own, but `tokenizer\.target\.kind` is "characters"'):
        load_recipe(None, ["data.catalogue=tagged", *TRAINING, *TAGGER, "tokenizer.source.kind=characters"])


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("training.scheduled_sampling={k=9.0}", "training.scheduled_sampling"),
        ("training.positions=one", "training.positions"),
        ("search.length_penalty=0", "search.length_penalty"),
        ("search.no_repeat_ngram=3", "search.no_repeat_ngram"),
        ("search.temperature=0.5", "search.method"),
        ("search.method=mbr", "search.method"),
        ("search.beam=1", "search.beam"),
    ],
)
def test_settings_of_a_decoder_need_one(setting: str, name: str) -> None:
    message = f'`{name}` needs a decoder, but `model.kind` = "tagger" is encoder-only: leave it out'
    with pytest.raises(ConfigError, match=message):
        load_recipe(None, ["data.catalogue=tagged", *TRAINING, *WORDS, *TAGGER, setting])


def test_labels_are_no_words_of_the_source() -> None:
    with pytest.raises(ConfigError, match=r"words of their own, but `tokenizer\.joint` is true: set it to false"):
        load_recipe(None, ["data.catalogue=tagged", *TRAINING, *WORDS, *TAGGER, "tokenizer.joint=true"])


def test_pairs_that_cannot_be_scored_are_named(run: Path, tmp_path: Path, heedful: Callable) -> None:
    """Lines count on through all chunks in which a file is read."""
    (tmp_path / "x").write_text("a b\n" * 1500)
    for line, said in (
        ("VOWEL", "1 label, but its source has 2 positions"),
        ("VOWEL X", "a label that this model does not"),
    ):
        (tmp_path / "y").write_text("VOWEL LAST\n" * 1499 + f"{line}\n")
        outcome = heedful("score", str(run), str(tmp_path / "x"), str(tmp_path / "y"))
        assert outcome.code == 1
        assert f"Pair 1500 has {said}" in outcome.err


def test_no_alignment_of_what_has_no_decoder(run: Path, tmp_path: Path, heedful: Callable) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\tVOWEL LAST\n")
    outcome = heedful("align", str(run), str(tmp_path / "pairs.tsv"))
    assert (outcome.code, outcome.out) == (2, "")
    assert "A word alignment needs a decoder, and this model has none to look into." in outcome.err


def test_a_long_line_is_answered_whole(run: Path) -> None:
    """Longer than `search.max_source`, at which the sources of decoders are cut."""
    (found,) = load(run).translate([" ".join(["a"] * 1500)])
    assert len(found.text.split()) == 1500
    assert found.warnings == []


def test_no_shortlist_for_it(run: Path) -> None:
    with pytest.raises(ConfigError, match="A shortlist needs a decoder, but this model is encoder-only"):
        make_shortlist(run, 10, 10)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("inference", []),
        ("reader", ["model.attention=over"]),
        ("memory", []),
        ("hierarchical", ["model.reading=hierarchical"]),
    ],
)
def test_parts_must_be_told_apart(kind: str, settings: list[str]) -> None:
    data = ["data.catalogue=inference", "tokenizer.source.kind=words", "training.label_smoothing=0.0"]
    with pytest.raises(ConfigError, match=f'`model.kind` = "{kind}" reads sources in parts: set `tokenizer.source'):
        load_recipe(None, [*data, f"model.kind={kind}", *settings])


PARTS = ("tokenizer.source.kind=words", "tokenizer.source.separator='|||'", "training.label_smoothing=0.0")


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_parts_are_looked_at_before_training(tmp_path: Path, split: str) -> None:
    lines = [f"a{number} ||| b{number}\tyes\n" for number in range(30)]
    files = []
    for place, name in enumerate(("train", "dev", "test")):
        some = lines[10 * place : 10 * place + 10]
        if name == split:
            some[6] = "a ||| b ||| c\tyes\n"
        (tmp_path / f"{name}.tsv").write_text("".join(some))
        files.append(f"data.{name}=['{tmp_path}/{name}.tsv']")
    settings = [*files, *PARTS, *TRAINING, "tokenizer.joint=false", "model.kind=inference", "model.d_model=8"]
    recipe = load_recipe(None, [*settings, "model.d_hidden=8", "evaluation.metrics=['accuracy']"])
    split = {"train": "training"}.get(split, split)
    with pytest.raises(
        ConfigError, match=f"{split}:7: a premise and a hypothesis are 2 parts, but here are 3"
    ) as caught:
        dry_run(recipe, tmp_path / "run")
    assert "tokenizer.source.separator" in str(caught.value.hint)


def test_a_separator_that_never_occurs(tmp_path: Path) -> None:
    settings = [*PARTS, *TRAINING, "data.catalogue=documents", "data.pairs=50", "tokenizer.joint=false"]
    settings += ["model.kind=hierarchical", "model.reading=hierarchical", "tokenizer.source.separator='###'"]
    recipe = load_recipe(None, [*settings, "evaluation.metrics=['accuracy']"])
    with pytest.raises(ConfigError, match="train: `###` stands in no source, so that none has parts"):
        dry_run(recipe, tmp_path / "run")


def test_a_line_without_its_parts_is_named(tmp_path: Path) -> None:
    settings = [*PARTS, *TRAINING, "data.catalogue=inference", "data.pairs=200", "tokenizer.joint=false"]
    settings += ["model.kind=inference", "model.d_model=8", "model.d_hidden=8", "evaluation.dev_sentences=8"]
    settings += ["evaluation.metrics=['accuracy']", "training.max_updates=20", "training.validate_every=20"]
    translator = load(train(load_recipe(None, settings), tmp_path / "run").run)
    with pytest.raises(HeedfulError, match="Line 3: a premise and a hypothesis are 2 parts, but here are 1"):
        translator.translate(["a ||| b", "", "a b"])


def test_a_reader_needs_answers_in_its_stories(tmp_path: Path) -> None:
    settings = []
    for split, count in (("train", 20), ("dev", 5)):
        path = tmp_path / f"{split}.tsv"
        path.write_text("".join(f"it is {n} ||| where {split} {n} ?\tyes\n" for n in range(count)))
        settings.append(f"data.{split}=['{path}']")
    settings += [*PARTS, "tokenizer.joint=true", "model.kind=reader", "model.attention=over"]
    settings += ["evaluation.metrics=['accuracy']"]
    with pytest.raises(ConfigError, match="train: no story holds its answer, in any of 20 pairs"):
        dry_run(load_recipe(None, settings), tmp_path / "run")


def test_its_report_has_pictures_where_it_attends(run: Path, heedful: Callable) -> None:
    assert heedful("report", str(run)).code == 0
    page = (run / "report.html").read_text("utf-8")
    assert '<section id="scores"' in page
    assert '<section id="attention"' not in page  # this one has no attention
