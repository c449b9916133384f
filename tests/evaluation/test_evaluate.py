"""The one scoring path: scores, tokenised protocol, signatures, and what is kept of each item."""

import gzip
import unicodedata
from pathlib import Path

import pytest
import sacrebleu
from pydantic import ValidationError
from tests.evaluation.made_up import Fixed, Noisy, sentences

from heedful.evaluation.config import EvaluationConfig
from heedful.evaluation.evaluate import Occasion, evaluate, item_statistics, result_rows
from heedful.evaluation.metrics import metric_names, metrics_for
from heedful.evaluation.postprocess import moses_lowercase
from heedful.evaluation.score import measure, reference_count, score_outputs
from heedful.records.manifest import data_hash
from heedful.records.signature import parse_signature


def config(**settings: object) -> EvaluationConfig:
    return EvaluationConfig.model_validate({"bootstrap_samples": 50, **settings})


class TestScores:
    def test_value_interval_count_and_signature(self) -> None:
        (score,) = score_outputs(["a", "b", "c"], [["a"], ["b"], ["x"]], metrics_for(["exact"]), samples=200, seed=1)
        assert score.value == pytest.approx(200 / 3)
        assert score.low < score.value < score.high
        assert (score.metric, score.n) == ("exact", 3)
        assert score.signature.startswith("nrefs:1|form:NFC|case:mixed")

    @pytest.mark.parametrize("metric", [name for name in metric_names() if name != "span-f1"])
    def test_equal_forms_of_unicode_are_equal(self, metric: str) -> None:
        """Outputs and references in NFC or NFD: the same score; characters that are only alike stay different."""
        texts = ["Über den Müller", "élève à côté", "한국어 문장", "plain text here now"]
        outputs = [*texts[:3], "other text here now"]
        forms = [[unicodedata.normalize(form, text) for text in texts] for form in ("NFC", "NFD")]
        written = [[unicodedata.normalize(form, text) for text in outputs] for form in ("NFC", "NFD")]
        (counter,) = metrics_for([metric])
        scores = [score_outputs(o, [[t] for t in r], [counter], 20, seed=1) for o in written for r in forms]
        assert all(score == scores[0] for score in scores)
        alike = measure(counter, ["x² …"], [["x2 ..."]]).tolist()
        assert alike != measure(counter, ["x2 ..."], [["x2 ..."]]).tolist()

    def test_what_is_right_is_no_mistake_in_another_form(self) -> None:
        found = evaluate(Fixed("Mu\u0308ller"), ["x"], [["Müller"]], config(metrics=["exact", "cer"]), seed=1)
        assert ([score.value for score in found.scores], found.errors) == ([100.0, 0.0], [])
        assert found.outputs[0].output == "Mu\u0308ller"  # kept as it was written

    def test_count_of_references(self) -> None:
        assert reference_count([["a", "b"], ["c", "d"]]) == "2"
        assert reference_count([["a"], ["c", "d"]]) == "var"

    @pytest.mark.parametrize(
        ("outputs", "references", "message"),
        [
            (["a"], [["a"], ["b"]], "`references` must have an entry for each of the 1 outputs, but has 2."),
            ([], [], "`outputs` must hold at least one line, but is empty."),
            (
                ["a", "b"],
                [["a"], []],
                "`references` must hold at least one reference for each output, but item 1 has none.",
            ),
        ],
    )
    def test_refusals(self, outputs: list, references: list, message: str) -> None:
        with pytest.raises(ValueError) as raised:  # noqa: PT011  (the whole message is compared)
            score_outputs(outputs, references, metrics_for(["exact"]), 10, 1)
        assert str(raised.value) == message


class TestEvaluate:
    def test_all_of_it(self) -> None:
        sources, references = ["x", "y"], [["A B", "A C"], ["D"]]
        found = evaluate(Fixed("A C", "D E"), sources, references, config(metrics=["wer", "per"]), seed=1, split="dev")
        assert found.value("wer") == 50.0
        assert found.value("per") == pytest.approx(100 / 3)
        assert [item.id for item in found.outputs] == ["dev-0", "dev-1"]
        assert found.outputs[0].references == ["A B", "A C"]
        assert [mistake.item.id for mistake in found.errors] == ["dev-1"]
        assert found.errors[0].measures == {"wer": 100.0, "per": 100.0}
        assert found.data_hash == data_hash(sources, references)
        assert found.seconds >= 0

    def test_scores_are_those_of_the_outputs_alone(self) -> None:
        sources = sentences(40)
        settings = config(metrics=["bleu", "chrf"])
        found = evaluate(Noisy(0.2), sources, [[line] for line in sources], settings, seed=1)
        outputs = [item.output for item in found.outputs]
        assert found.scores == score_outputs(
            outputs, [[line] for line in sources], metrics_for(["bleu", "chrf"]), 50, 1
        )
        assert found.value("bleu") == pytest.approx(sacrebleu.corpus_bleu(outputs, [sources]).score, abs=1e-9)

    def test_texts_are_not_tokenised_unless_a_metric_reads_them(self) -> None:
        found = evaluate(Fixed("a ."), ["x"], [["a ."]], config(metrics=["bleu"]), seed=1)
        assert found.outputs[0].tokenised_output is None

    def test_multi_bleu_on_references_made_the_same_way(self) -> None:
        settings = config(metrics=["multi-bleu", "bleu"], postprocess="moses-lowercase", language="de")
        found = evaluate(Fixed("Ein Hund rennt, schnell."), ["x"], [["ein hund rennt, schnell."]], settings, seed=1)
        assert found.outputs[0].tokenised_output == "ein hund rennt , schnell ."
        assert found.value("multi-bleu") == 100.0
        assert found.value("bleu") < 100
        assert "post:moses-lowercase.de|" in found.scores[0].signature

    def test_multi_bleu_on_given_references(self) -> None:
        """They are scored as they are (a published file ends its lines in a blank), and the signature says so."""
        settings = config(metrics=["multi-bleu"], postprocess="moses-lowercase", language="de")
        given = [["ein hund rennt , schnell . "]]
        found = evaluate(
            Fixed("Ein Hund rennt, schnell."), ["x"], [["RAW"]], settings, seed=1, tokenised_references=given
        )
        assert found.value("multi-bleu") == 100.0
        assert found.outputs[0].tokenised_references == ["ein hund rennt , schnell ."]
        assert "post:moses-lowercase.de,refs.given|" in found.scores[0].signature

    def test_multi_bleu_without_postprocessing_reads_outputs_as_they_are(self) -> None:
        found = evaluate(Fixed("A b c d"), ["x"], [["a b c d"]], config(metrics=["multi-bleu"]), seed=1)
        assert found.outputs[0].tokenised_output == "A b c d"
        assert found.value("multi-bleu") == 0.0

    def test_stored_outputs_give_the_same_statistics(self) -> None:
        sources = sentences(20)
        found = evaluate(Noisy(0.3), sources, [[line] for line in sources], config(metrics=["multi-bleu"]), seed=1)
        (metric,) = metrics_for(["multi-bleu"])
        expected = measure(metric, [item.output for item in found.outputs], [[line] for line in sources])
        assert (item_statistics(metric, found.outputs) == expected).all()

    def test_refusals(self) -> None:
        with pytest.raises(ValueError, match=r"`references` must have an entry for each of the 2 sources, but has 1\."):
            evaluate(Fixed("a", "b"), ["x", "y"], [["a"]], config(), seed=1)
        with pytest.raises(ValueError, match=r"`tokenised_references` must have 1 entries, but has 2\."):
            evaluate(
                Fixed("a"), ["x"], [["a"]], config(metrics=["multi-bleu"]), seed=1, tokenised_references=[["a"], ["b"]]
            )
        found = evaluate(Fixed("a"), ["x"], [["a"]], config(metrics=["exact"]), seed=1)
        with pytest.raises(ValueError, match="must hold tokenised texts for multi-bleu, but test-0 has none"):
            item_statistics(metrics_for(["multi-bleu"])[0], found.outputs)


class TestResultRows:
    def test_every_number_has_its_signature(self) -> None:
        found = evaluate(Fixed("a", "b"), ["x", "y"], [["a"], ["c"]], config(metrics=["exact", "cer"]), seed=7)
        rows = result_rows(found, Occasion("r", 7, "test", "best", "beam=5", 30, chosen=True))
        assert [row.metric for row in rows] == ["exact", "cer"]
        for row, score in zip(rows, found.scores, strict=True):
            signature = parse_signature(row.signature)
            assert signature == (found.data_hash, "test", "beam=5", 7, row.metric, score.signature)
            assert (row.value, row.ci_low, row.ci_high, row.n) == score[1:5]


def test_moses_needs_a_language() -> None:
    with pytest.raises(ValidationError, match='postprocess = "moses-lowercase" needs the `language`'):
        config(postprocess="moses-lowercase")


@pytest.mark.parametrize(("language", "wrong"), [("de", 0), ("en", 0), ("fr", 1)])
def test_moses_makes_the_published_files(shared_data: Path, language: str, wrong: int) -> None:
    """Multi30k's test_2016_flickr: 1,000 lines of each language, all but one French as published."""
    folder = shared_data / "multi30k"
    raw = lines_of(folder / "raw" / f"test_2016_flickr.{language}.gz")
    published = lines_of(folder / "tok" / f"test_2016_flickr.lc.norm.tok.{language}.gz")
    made = moses_lowercase(raw, language)
    assert len(made) == len(published) == 1000
    assert sum(ours != theirs.strip() for ours, theirs in zip(made, published, strict=True)) == wrong


def lines_of(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()
