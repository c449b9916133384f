"""`--engine`, `--type` and exports given as models, through the command line."""

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.export.little_models import learned_run, letters

from heedful.decoding.translation import Translation
from heedful.errors import HeedfulError
from heedful.export import ctranslate2 as target
from heedful.export import fastest_precision, targets
from heedful.export.fastest_precision import Timing, choose_fastest, measure_precisions
from heedful.export.parity import Engine, Tolerance
from heedful.export.targets import write_export
from heedful.models.bundle import load_bundle
from heedful.pipeline.load import load

LINES = [*letters(20, seed=9), "", "a b"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learned_run(tmp_path_factory.mktemp("learned") / "letters")


@pytest.fixture(scope="module")
def exported(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    write_export(load_bundle(run / "model"), folder, "ctranslate2", "float32")
    return folder


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "text"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return str(path)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program puts its temporary folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


class TestTranslate:
    @pytest.mark.parametrize("engine", ["native", "ctranslate2", "onnx"])
    def test_every_engine_says_the_same(
        self, engine: str, run: Path, text: str, temporary: Path, heedful: Callable
    ) -> None:
        outcome = heedful("translate", str(run), text, "--engine", engine)
        assert outcome == (0, heedful("translate", str(run), text).out, "")
        assert list(temporary.iterdir()) == []

    def test_an_export_is_used_as_it_is(
        self, run: Path, exported: Path, text: str, temporary: Path, heedful: Callable
    ) -> None:
        wanted = heedful("translate", str(run), text, "--beam", "1").out
        for options in ((), ("--engine", "ctranslate2")):
            assert heedful("translate", str(exported), text, "--beam", "1", *options) == (0, wanted, "")

    def test_json_has_the_tokens(self, run: Path, exported: Path, text: str, heedful: Callable) -> None:
        options = (text, "--json", "--n-best", "2")
        ours = heedful("translate", str(run), *options).out.splitlines()
        theirs = heedful("translate", str(exported), *options).out.splitlines()
        for left, right in zip(map(json.loads, ours), map(json.loads, theirs), strict=True):
            assert (left["text"], left["warnings"]) == (right["text"], right["warnings"])
            best, other = left["n_best"][0], right["n_best"][0]
            assert [piece for piece, _ in best["tokens"]] == [piece for piece, _ in other["tokens"]]
            assert [p for _, p in best["tokens"]] == pytest.approx([p for _, p in other["tokens"]], abs=1e-4)

    def test_prefix(self, run: Path, text: str, heedful: Callable) -> None:
        options = (text, "--prefix", "F", "--beam", "1")
        wanted = heedful("translate", str(run), *options).out
        assert heedful("translate", str(run), *options, "--engine", "ctranslate2").out == wanted
        assert [line[0] for line in wanted.splitlines() if line] == ["F"] * (len(LINES) - 1)

    def test_bfloat16_is_rounded_weights_where_the_processor_has_no_more(
        self, run: Path, text: str, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda _device: {"float32", "int8"})
        outcome = heedful("translate", str(run), text, "--engine", "ctranslate2", "--type", "bfloat16")
        assert outcome.code == 0
        said = "ctranslate2 cannot compute in bfloat16 on this machine: float32 with weights rounded to bfloat16\n"
        assert outcome.err == said

    @pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
    def test_the_native_engine_has_types_too(self, precision: str, run: Path, text: str, heedful: Callable) -> None:
        outcome = heedful("translate", str(run), text, "--type", precision)
        wanted = load(run).with_search({"precision": precision}).translate(LINES)
        assert (outcome.code, outcome.out) == (0, "".join(f"{found.text}\n" for found in wanted))

    def test_native_auto_says_how_it_chose(self, run: Path, text: str, heedful: Callable) -> None:
        outcome = heedful("translate", str(run), text, "--type", "auto")
        assert outcome.code == 0, outcome.err
        assert outcome.err.startswith("native computes in ")
        assert all(f"{precision} " in outcome.err for precision in ("float32", "bfloat16", "int8"))
        assert len(outcome.out.splitlines()) == len(LINES)

    def test_auto_says_how_it_chose(self, run: Path, text: str, temporary: Path, heedful: Callable) -> None:
        outcome = heedful("translate", str(run), text, "--engine", "ctranslate2", "--type", "auto")
        assert outcome.code == 0, outcome.err
        assert outcome.err.startswith("ctranslate2 computes in ")
        assert "float32 " in outcome.err
        assert "int8 " in outcome.err
        assert len(outcome.out.splitlines()) == len(LINES)
        assert list(temporary.iterdir()) == []


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--engine", "marian"), 'There is no engine "marian".\nhint: Use one of: native, ctranslate2, onnx.'),
            (("--engine", "huggingface"), 'There is no engine "huggingface".'),
            (("--type", "int3"), "'float32', 'bfloat16' or 'int8'"),
            (("--engine", "ctranslate2", "--type", "int3"), 'The target ctranslate2 has no precision "int3".'),
            (
                ("--engine", "ctranslate2", "--temperature", "1"),
                'The engine ctranslate2 has no `search.method` = "sample".',
            ),
            (("--engine", "ctranslate2", "--seed", "7"), '`search.seed` is of `search.method` = "sample" or "mbr"'),
            (("--engine", "ctranslate2", "--mbr", "4"), 'The engine ctranslate2 has no `search.method` = "mbr".'),
            (("--engine", "ctranslate2", "--no-repeat-ngram", "2"), "The engine ctranslate2 has no `no_repeat_ngram`."),
            (("--engine", "ctranslate2", "--require", "A"), "The engine ctranslate2 can neither require nor forbid"),
            (("--engine", "ctranslate2", "--forbid", "A"), "The engine ctranslate2 can neither require nor forbid"),
            (("--engine", "ctranslate2", "--ensemble", "x"), "for bundles.\nhint: Leave --engine out."),
            (
                ("--engine", "ctranslate2", "--shortlist"),
                "this model has none.\nhint: Make one: heedful shortlist RUN.",
            ),
            (("--engine", "onnx", "--shortlist"), "The engine onnx has no `shortlist`: its output matrix is"),
            (("--engine", "onnx", "--shortlist"), "hint: Use the engine native or ctranslate2, with the bundle"),
        ],
    )
    def test_what_an_engine_cannot_do(
        self, options: tuple[str, ...], said: str, run: Path, text: str, heedful: Callable
    ) -> None:
        outcome = heedful("translate", str(run), text, *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert said in outcome.err
        assert "hint: " in outcome.err

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--engine", "native"), "is for ctranslate2: the engine native cannot read it."),
            (("--engine", "onnx"), "is for ctranslate2: the engine onnx cannot read it."),
            (("--type", "int8"), "is in float32, and cannot be in another type."),
            (("--ensemble", "x"), "is an export: name the bundle or the run that it was made from."),
            (("--ensemble-mean", "geometric"), "is an export: name the bundle or the run that it was made from."),
            (("--shortlist",), "this model has none.\nhint: Make one: heedful shortlist RUN. An export takes it along"),
        ],
    )
    def test_what_an_export_is_not(
        self, options: tuple[str, ...], said: str, exported: Path, text: str, heedful: Callable
    ) -> None:
        outcome = heedful("translate", str(exported), text, *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert said in outcome.err

    def test_an_export_that_only_others_read(self, text: str, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "export.toml").write_text('format = 1\ntarget = "huggingface"\ntype = "float32"\n')
        outcome = heedful("translate", str(tmp_path), text)
        assert outcome.code == 2
        assert "is for huggingface, which is no engine of heedful." in outcome.err


class TestOtherVerbs:
    def test_score(self, run: Path, exported: Path, text: str, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "targets").write_text("".join(f"{line.upper()}\n" for line in LINES))
        ours, theirs = (
            [float(line) for line in heedful("score", str(model), text, str(tmp_path / "targets")).out.splitlines()]
            for model in (run, exported)
        )
        assert len(theirs) == len(LINES)
        assert ours == pytest.approx(theirs, abs=1e-3)

    def test_evaluate_is_printed_only(self, run: Path, exported: Path, heedful: Callable) -> None:
        """The same scores from the export, and by --engine; the run keeps nothing of it."""
        kept = (run / "results.csv").read_bytes()
        wanted = json.loads(heedful("evaluate", str(run / "model"), "--json").out)["scores"]
        after = (run / "results.csv").read_bytes()
        for arguments in ((str(exported),), (str(run), "--engine", "ctranslate2")):
            found = json.loads(heedful("evaluate", *arguments, "--json").out)
            assert found["run"] is None
            assert found["scores"] == wanted
        assert (run / "results.csv").read_bytes() == after
        assert after.startswith(kept[:100])

    def test_evaluate_with_other_settings(self, exported: Path, heedful: Callable) -> None:
        assert heedful("evaluate", str(exported), "search.beam=1").code == 0
        outcome = heedful("evaluate", str(exported), "search.temperature=1.0")
        assert outcome.code == 2
        assert 'The engine ctranslate2 has no `search.method` = "sample".' in outcome.err

    def test_export_measures_types(self, run: Path, tmp_path: Path, heedful: Callable) -> None:
        out = tmp_path / "out"
        outcome = heedful("export", str(run), str(out), "--to", "ctranslate2", "--type", "auto")
        assert outcome.code == 0, outcome.err
        assert "ctranslate2 computes in " in outcome.err
        assert targets.read_export(out).precision in ("float32", "int8", "bfloat16")


class TestFastest:
    """By hand: timings that decide, and a clock that says how long each engine takes."""

    @pytest.mark.parametrize(
        ("seconds", "equal_texts", "chosen"),
        [(0.5, 0.8, "int8"), (0.5, 0.7, "float32"), (0.97, 1.0, "float32"), (1.5, 1.0, "float32"), (0.9, 0.75, "int8")],
    )
    def test_choice(self, seconds: float, equal_texts: float, chosen: str) -> None:
        timings = [Timing("float32", 1.0, 1.0), Timing("int8", seconds, equal_texts)]
        tolerances = {"float32": Tolerance(), "int8": Tolerance(equal_texts=0.75)}
        assert choose_fastest(timings, tolerances) == chosen

    def test_measures(self, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The least of the rounds; types without kernels here are left out."""
        clock = iter([0, 5, 0, 2, 0, 3, 0, 2.5, 0, 4, 0, 9])  # float32 and int8 in turns
        monkeypatch.setattr(fastest_precision.time, "perf_counter", lambda: next(clock))
        monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda _device: {"float32", "int8"})
        found = measure_precisions(load_bundle(run / "model"), "ctranslate2", LINES)
        assert [(one.precision, one.seconds) for one in found] == [("float32", 3), ("int8", 2)]
        assert found[0].equal_texts == 1.0
        assert 0.5 <= found[1].equal_texts <= 1.0

    def test_without_text(self, run: Path) -> None:
        with pytest.raises(HeedfulError, match=r"no text to measure precisions on.*\nhint: .*--type float32"):
            measure_precisions(load_bundle(run / "model"), "ctranslate2", ["", " "])

    def test_agreement_is_a_share_of_texts(self, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Other:
            """Says something else for every second line."""

            def __init__(self, engine: Engine) -> None:
                self._engine = engine

            def translate(self, lines: Sequence[str], *, n_best: int = 1) -> list[Translation]:
                found = self._engine.translate(lines, n_best=n_best)
                return [one._replace(text="?") if n % 2 else one for n, one in enumerate(found)]

        def opened(folder: Path) -> Engine:
            engine = plainly(folder)
            return Other(engine) if folder.name == "int8" else engine

        plainly = target.open_export
        monkeypatch.setattr(target, "open_export", opened)
        timings = measure_precisions(load_bundle(run / "model"), "ctranslate2", ["a b", "c d", "e f", "f e"] * 3)
        assert next(one.equal_texts for one in timings if one.precision == "int8") <= 0.5


def test_the_python_way(exported: Path, run: Path) -> None:
    engine = targets.open_export(exported)
    assert [found.text for found in engine.translate(LINES)] == [found.text for found in load(run).translate(LINES)]
