"""The options of `heedful translate` that say how outputs are found and what they must hold."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import untrained_bundle

from heedful.decoding.rules import OutputRules
from heedful.decoding.translation import Translation
from heedful.pipeline.load import load, load_ensemble

PAIRS = [("abc de", "cba ed"), ("fgh", "ihg"), ("jk ü", "ü kj"), ("lm", "ml")]
LINES = ["abc", "de fg", "", "jk"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_bundle(tmp_path_factory.mktemp("random") / "model", PAIRS, "search.max_extra=12")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another width, so other weights; the same tokenisers."""
    return untrained_bundle(tmp_path_factory.mktemp("random") / "other", PAIRS, "model.d_model=24")


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put text on standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.fixture
def run(bundle: Path, give: Callable, heedful: Callable) -> Callable:
    """Translate LINES with options; what is printed, line by line."""

    def translated(*options: str, text: str = "".join(f"{line}\n" for line in LINES)) -> list[str]:
        give(text)
        outcome = heedful("translate", str(bundle), *options)
        assert (outcome.code, outcome.err) == (0, ""), outcome.err
        return outcome.out.split("\n")[:-1]

    return translated


@pytest.fixture
def refusal(bundle: Path, give: Callable, heedful: Callable) -> Callable:
    """What is said of options that are refused, and the exit code."""

    def refused(*options: str, text: str = "abc\n") -> tuple[int, str]:
        give(text)
        outcome = heedful("translate", str(bundle), *options)
        assert outcome.out == ""
        return outcome.code, outcome.err

    return refused


def texts(found: list[Translation]) -> list[str]:
    """What is printed of translations."""
    return [one.text for one in found]


class TestMbr:
    @pytest.mark.parametrize("utility", ["chrf", "bleu", "edit", "edit-characters"])
    def test_is_the_python_interface(self, utility: str, bundle: Path, run: Callable) -> None:
        search = {"samples": 6, "utility": utility, "seed": 3}
        wanted = texts(load(bundle).with_search(search).translate(LINES))
        assert run("--mbr", "6", "--mbr-utility", utility, "--seed", "3") == wanted

    def test_candidates(self, bundle: Path, run: Callable) -> None:
        """Of the beam's outputs without the unknown symbol one comes first; scores are agreement in per cent."""
        chosen = run("--mbr", "5", "--mbr-candidates", "beam", "--beam", "4", "--n-best", "2")
        one_best = run("--mbr", "1", "--mbr-candidates", "beam", "--beam", "1")
        assert not any("⁇" in row for row in [*chosen, *one_best])
        greedy = run("--beam", "1")
        assert [row for row, found in zip(one_best, greedy, strict=True) if row != found and "⁇" not in found] == []
        assert all(0 <= float(row.split("\t")[2]) <= 100 for row in chosen)
        assert run("--mbr", "5", "--mbr-candidates", "both") != run("--beam", "1")

    def test_cuts_shape_the_samples(self, run: Callable) -> None:
        greedy = run("--beam", "1")
        assert run("--mbr", "3", "--top-k", "1") == greedy
        assert run("--mbr", "3", "--epsilon", "0.99") == greedy
        assert run("--temperature", "3", "--epsilon", "0.99") == greedy

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--mbr-utility", "bleu"), '`search.utility` is of `search.method` = "mbr", but that is "beam".'),
            (("--mbr-candidates", "both"), '`search.candidates` is of `search.method` = "mbr", but that is "beam".'),
            (("--mbr", "4", "--mbr-utility", "comet"), "`search.utility` must be 'chrf', 'bleu', 'edit' or"),
            (("--mbr", "4", "--require", "a"), "Required phrases need beam search"),
            (("--temperature", "1", "--require", "a"), "Required phrases need beam search"),
            (("--no-repeat-ngram", "2", "--require", "a"), "Required phrases and no_repeat_ngram exclude each other."),
        ],
    )
    def test_contradictions(self, options: tuple[str, ...], message: str, refusal: Callable) -> None:
        code, said = refusal(*options)
        assert code == 2
        assert message in said
        assert "hint: " in said

    def test_a_beam_that_nothing_is_searched_with(self, refusal: Callable) -> None:
        """MBR chooses among samples, unless it is told to choose among what beam search finds."""
        code, said = refusal("--mbr", "4", "--beam", "3")
        assert code == 2
        assert '[search]: `beam` is of `candidates` = "beam" or "both", but that is "samples": leave it out' in said


class TestPhrases:
    def test_for_all_lines(self, run: Callable) -> None:
        found = run("--require", "ml", "--require", "ü", "--forbid", "c", "--forbid", "b a", "--beam", "3")
        assert found[2] == ""
        for text in (found[0], found[1], found[3]):
            assert "ml" in text
            assert "ü" in text
            assert "c" not in text
            assert "b a" not in text

    def test_tab_separated(self, bundle: Path, run: Callable) -> None:
        found = run("--input-format", "tsv", "--require", "g", text="abc\tml\tüh\nde\n\njk\tcba\t\n")
        assert ["ml" in found[0], "üh" in found[0], "cba" in found[3], found[2]] == [True, True, True, ""]
        assert all("g" in text for text in found if text)
        wanted = load(bundle).translate(["de"], rules=[OutputRules(["g"])])
        assert found[1] == wanted[0].text

    def test_json_lines(self, bundle: Path, run: Callable) -> None:
        asked = [
            {"source": "abc", "require": ["ml"], "forbid": ["a"]},
            {"source": "de", "prefix": "ü"},
            {"source": ""},
            {"source": "jk"},
        ]
        found = run("--input-format", "jsonl", "--prefix", "k", text="".join(f"{json.dumps(one)}\n" for one in asked))
        assert found[0].startswith("k")
        assert "ml" in found[0]
        assert "a" not in found[0]
        assert found[1].startswith("ü")
        assert found[2] == ""
        assert found[3] == load(bundle).translate(["jk"], prefixes=["k"])[0].text

    def test_no_repeated_ngrams(self, bundle: Path, run: Callable) -> None:
        found = run("--no-repeat-ngram", "1")
        assert all(len(set(text)) == len(text) for text in found)
        assert found == texts(load(bundle).with_search({"no_repeat_ngram": 1}).translate(LINES))

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("{", "-:2: not valid JSON: Expecting property name"),
            ("[1]", "-:2 is no JSON object with a text `source`."),
            ('{"text": "a"}', "-:2 is no JSON object with a text `source`."),
            ('{"source": "a", "beam": 2}', "-:2: unknown key `beam`."),
            ('{"source": "a", "require": "b"}', '-:2: `require` must be a list of texts, but is "b".'),
            ('{"source": "a", "forbid": [1]}', "-:2: `forbid` must be a list of texts, but is [1]."),
            ('{"source": "a", "prefix": ["b"]}', '-:2: `prefix` must be a text, but is ["b"].'),
        ],
    )
    def test_json_that_is_wrong(self, line: str, message: str, refusal: Callable) -> None:
        code, said = refusal("--input-format", "jsonl", text=f'{{"source": "abc"}}\n{line}\n')
        assert code == 1
        assert message in said
        assert "hint: " in said

    def test_unknown_format(self, refusal: Callable) -> None:
        assert refusal("--input-format", "xml") == (
            2,
            "error: --input-format xml is unknown.\nhint: Known formats: text, tsv, jsonl.\n",
        )

    def test_lines_are_counted_over_the_whole_file(
        self, refusal: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("heedful.cli.translate.CHUNK", 2)
        text = "abc\nde\nab\njk\n\nlm\tabcd☃\n"
        code, said = refusal("--input-format", "tsv", "--output", str(tmp_path / "out"), text=text)
        assert code == 2
        assert "error: -:6: this model cannot write 'abcd☃'" in said


class TestEnsemble:
    @pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
    def test_is_the_python_interface(self, mean: str, bundle: Path, other: Path, run: Callable) -> None:
        wanted = texts(load_ensemble(bundle, [other], mean).translate(LINES))
        assert run("--ensemble", str(other), "--ensemble-mean", mean) == wanted

    def test_of_itself_is_itself(self, bundle: Path, run: Callable) -> None:
        assert run("--ensemble", str(bundle), "--ensemble", str(bundle)) == run()

    def test_of_scores(self, bundle: Path, other: Path, tmp_path: Path, heedful: Callable) -> None:
        """The mean of two probabilities of one token, from the scores of each model."""
        (tmp_path / "source").write_text("abc\n")
        (tmp_path / "target").write_text("\n")
        files = (str(tmp_path / "source"), str(tmp_path / "target"))

        def p(*options: str) -> float:
            outcome = heedful("score", *options)
            assert outcome.code == 0, outcome.err
            return 2.718281828459045 ** float(outcome.out)

        each = p(str(bundle), *files), p(str(other), *files)
        assert p(str(bundle), *files, "--ensemble", str(other)) == pytest.approx(sum(each) / 2, rel=1e-4)
        assert each[0] != pytest.approx(each[1], rel=1e-3)

    def test_refusals(self, bundle: Path, tmp_path: Path, refusal: Callable) -> None:
        stranger = untrained_bundle(tmp_path / "stranger", [*PAIRS, ("xyz", "zyx")])
        code, said = refusal("--ensemble", str(stranger))
        assert code == 2
        assert f"{stranger} has another source tokenizer than {bundle}." in said
        assert "hint: Models share them if they are trained on the same data" in said
        assert refusal("--ensemble-mean", "geometric")[1].startswith("error: --ensemble-mean without --ensemble.")
        code, said = refusal("--ensemble", str(bundle), "--ensemble-mean", "harmonic")
        assert (code, said.split("\n")[0]) == (2, "error: The mean harmonic is unknown.")
        assert "hint: It is one of: arithmetic, geometric." in said


def test_zero_is_a_length_penalty(run: Callable) -> None:
    """Not the same as none given: the score is then log p itself."""
    rows = [json.loads(line) for line in run("--length-penalty", "0", "--json")]
    assert all(row["score"] == pytest.approx(row["n_best"][0]["log_p"]) for row in rows)


class TestIdle:
    @pytest.mark.parametrize("option", ["--top-k", "--seed"])
    def test_how_to_sample_without_sampling(self, option: str, refusal: Callable) -> None:
        code, said = refusal(option, "3")
        key, methods = option[2:].replace("-", "_"), '`search.method` = "sample" or "mbr"'
        assert (code, said.splitlines()[0]) == (2, f'error: `search.{key}` is of {methods}, but that is "beam".')
        assert "hint: Sample by temperature = 1 or samples = N (--temperature 1, --mbr N), or leave it out." in said

    def test_a_switch_takes_no_value(self, refusal: Callable) -> None:
        code, said = refusal("--shortlist")
        assert code == 2
        assert "A shortlist is asked for, but this model has none." in said

    @pytest.mark.parametrize("text", ["", "\n \n"])
    def test_no_text_to_measure_number_types_on(self, text: str, run: Callable) -> None:
        assert run("--type", "auto", text=text) == [""] * text.count("\n")
