"""`heedful export --to onnx`, and the engine that reads what it wrote: equal to the native one in all that it gives."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tomlkit
import torch
from tests.pipeline.little import untrained_bundle

from heedful.decoding.translation import Translation
from heedful.decoding.translator import Translator
from heedful.errors import HeedfulError
from heedful.export import onnx as target
from heedful.export.onnx_runner import ENCODER, STEP, OnnxModel
from heedful.export.parity import Engine, compare_engines
from heedful.export.targets import check_expressible, write_export
from heedful.models.bundle import load_bundle
from heedful.pipeline.load import load

PAIRS = [("abc de. fghi", "cba ed. ihgf"), ("jk", "kj")]
LINES = ["abc de", "", "k", "fghi. abc abc abc. de", "   ", "z", "jk jk", "e"]
SEARCHES: dict[str, dict[str, object]] = {
    "greedy": {"beam": 1},
    "beam": {"beam": 3},
    "sampling": {"temperature": 1.0},
    "long lines in parts": {"beam": 2, "max_source": 5},
    "small batches": {"beam": 4, "max_tokens": 1},
}
EVERY_SEARCH = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())


def export(bundle: Path, folder: Path, precision: str = "float32") -> Path:
    folder.mkdir()
    write_export(load_bundle(bundle), folder, "onnx", precision)
    return folder


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_bundle(tmp_path_factory.mktemp("random") / "model", PAIRS, "search.max_extra=5")


@pytest.fixture(scope="module")
def folder(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(bundle, tmp_path_factory.mktemp("exported") / "out")


def same(left: list[Translation], right: list[Translation]) -> bool:
    """Equal in texts, pieces and warnings, and in numbers up to rounding."""
    texts = [
        [(t.text, t.warnings, [(c.text, [x.piece for x in c.tokens]) for c in t.n_best]) for t in side]
        for side in (left, right)
    ]
    numbers = [
        [value for t in side for c in t.n_best for value in (c.score, c.log_p, *(token.log_p for token in c.tokens))]
        for side in (left, right)
    ]
    return texts[0] == texts[1] and numbers[0] == pytest.approx(numbers[1], abs=1e-4)


class TestEngine:
    @EVERY_SEARCH
    def test_gives_what_the_native_one_gives(self, bundle: Path, folder: Path, search: dict[str, object]) -> None:
        native, other = load(bundle).with_search(search), target.open_export(folder).with_search(search)
        n_best = 1 if search.get("beam") == 1 else 2
        prefixes = ["", "a", "fe", "", "b", "c", "", "abcdef"]
        assert same(native.translate(LINES, n_best=n_best), other.translate(LINES, n_best=n_best))
        assert same(native.translate(LINES, prefixes=prefixes), other.translate(LINES, prefixes=prefixes))

    def test_a_line_does_not_depend_on_the_others(self, folder: Path) -> None:
        engine = target.open_export(folder)
        together = engine.translate(LINES, n_best=2)
        assert same(together, [engine.translate([line], n_best=2)[0] for line in LINES])
        assert same(together[::-1], engine.translate(LINES[::-1], n_best=2))

    def test_what_it_finds_it_scores_alike(self, folder: Path) -> None:
        """Whole = steps, from search to scoring."""
        engine = target.open_export(folder).with_search({"beam": 1})
        found = [output for output in engine.translate(LINES) if "⁇" not in output.text and output.tokens]
        lines = [line for line, output in zip(LINES, engine.translate(LINES), strict=True) if output in found]
        for output, scored in zip(found, engine.score(lines, [output.text for output in found]), strict=True):
            assert output.n_best[0].log_p == pytest.approx(scored.log_p, abs=1e-4)

    def test_searches_as_the_recipe_says(self, bundle: Path, folder: Path) -> None:
        assert target.open_export(folder).search == load(bundle).search

    def test_has_its_own_number_type(self, bundle: Path, folder: Path, tmp_path: Path) -> None:
        """Whatever the native engine computes in when it runs the model."""
        out = export(bundle, tmp_path / "out")
        recipe = tomlkit.parse((out / "recipe.toml").read_text("utf-8"))
        recipe["search"]["precision"] = "int8"
        (out / "recipe.toml").write_text(tomlkit.dumps(recipe), "utf-8")
        assert target.open_export(out).translate(LINES) == target.open_export(folder).translate(LINES)

    def test_scores_given_outputs(self, bundle: Path, folder: Path) -> None:
        outputs = [line[::-1] for line in LINES]
        for one, other in zip(
            load(bundle).score(LINES, outputs), target.open_export(folder).score(LINES, outputs), strict=True
        ):
            assert one.log_p == pytest.approx(other.log_p, abs=1e-4)

    def test_has_no_attention_maps_and_no_matrix(self, folder: Path) -> None:
        engine = target.open_export(folder)
        with pytest.raises(HeedfulError, match=r"no attention maps.*\nhint: Inspect the bundle"):
            engine.trace("abc", "c")
        with pytest.raises(ValueError, match=r"output matrix of an ONNX export is inside its graph\."):
            engine.backend.model.output_weight()

    @pytest.mark.parametrize(
        "changes",
        [
            ("tokenizer.source.kind=words", "model.norm=pre", "model.tie=none"),
            ("tokenizer.joint=false", "model.tie=decoder", "model.positions=t2t", "model.activation=gelu"),
            ("model.positions=learned", "model.max_positions=9", "model.attention_bias=true"),
            ("tokenizer.source.kind=sentencepiece", "tokenizer.source.vocab_size=17", "model.n_encoder_layers=3"),
        ],
        ids=["words", "separate", "learned", "subwords"],
    )
    def test_of_every_kind_of_model(self, changes: tuple[str, ...], tmp_path: Path) -> None:
        bundle = untrained_bundle(tmp_path / "model", PAIRS, *changes)
        native, other = load(bundle), target.open_export(export(bundle, tmp_path / "out"))
        assert same(native.translate(LINES), other.translate(LINES))
        assert other.backend.model.longest == native.backend.model.longest


class TestInt8:
    def test_is_near_and_smaller(self, tmp_path: Path) -> None:
        """Wide enough that matrices are what a file is made of; rounding to 255 levels moves logits by little."""
        wide = ("model.d_model=128", "model.d_ff=256", "model.n_decoder_layers=2")
        bundle = untrained_bundle(tmp_path / "model", PAIRS, *wide)
        exact, rounded = (export(bundle, tmp_path / kind, kind) for kind in ("float32", "int8"))
        size = {at: sum(file.stat().st_size for file in at.iterdir()) for at in (exact, rounded)}
        assert size[rounded] < 0.5 * size[exact]
        assert not (rounded / target.WEIGHTS).exists()
        texts = ["abc de", "fghi", "jk"], ["ed cba", "f", "kj"]
        with torch.inference_mode():
            one, other = (target.open_export(at).score(*texts) for at in (exact, rounded))
        differences = [
            abs(a.log_p - b.log_p)
            for x, y in zip(one, other, strict=True)
            for a, b in zip(x.tokens, y.tokens, strict=True)
        ]
        assert 0 < max(differences) < target.TOLERANCES["int8"].log_p

    def test_says_nothing_while_it_is_made(
        self, bundle: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        export(bundle, tmp_path / "out", "int8")
        assert capfd.readouterr() == ("", "")


class TestVerb:
    def test_exports_and_compares(self, bundle: Path, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "dev.txt").write_text("\n".join(LINES) + "\n")
        out = tmp_path / "out"
        outcome = heedful("export", str(bundle), str(out), "--to", "onnx", "--dev", str(tmp_path / "dev.txt"))
        assert outcome.code == 0, outcome.err
        assert "8 of 8 texts equal (100.0%)" in outcome.out
        assert {"encoder.onnx", "step.onnx", "weights.safetensors", "parity.json"} <= {p.name for p in out.iterdir()}

    def test_other_weights_do_not_pass(self, bundle: Path, folder: Path, tmp_path: Path) -> None:
        """The comparison sees it when the graphs read other weights than the model's."""
        other = export(untrained_bundle(tmp_path / "other", PAIRS, "model.scale_embedding=false"), tmp_path / "out")
        parity = compare_engines(load(bundle), target.open_export(other), LINES)
        assert parity.failures

    def test_bfloat16_is_refused_by_name(self, bundle: Path) -> None:
        with pytest.raises(HeedfulError, match=r'onnx has no precision "bfloat16"\.\nhint: onnx has float32, int8\.'):
            check_expressible(load_bundle(bundle), "onnx", "bfloat16")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


class TestDamage:
    @pytest.mark.parametrize(
        ("harm", "message"),
        [
            (lambda out: (out / STEP).unlink(), r"step\.onnx is missing\.\nhint: Copy the whole folder"),
            (lambda out: (out / "weights.safetensors").unlink(), r"onnxruntime cannot read .*encoder\.onnx"),
            (lambda out: cut(out / "weights.safetensors"), r"onnxruntime cannot read .*encoder\.onnx"),
            (lambda out: cut(out / ENCODER), r"onnxruntime cannot read .*encoder\.onnx"),
            (lambda out: (out / "recipe.toml").unlink(), "recipe.toml"),
            (lambda out: (out / "tokenizer.joint.vocab").unlink(), "tokenizer.joint.vocab"),
        ],
        ids=["no step", "no weights", "cut weights", "cut graph", "no recipe", "no vocabulary"],
    )
    def test_is_found_when_it_is_opened(self, bundle: Path, tmp_path: Path, harm: Callable, message: str) -> None:
        out = export(bundle, tmp_path / "out")
        harm(out)
        with pytest.raises(HeedfulError, match=message):
            target.open_export(out)

    def test_tokenizers_of_another_model(self, bundle: Path, tmp_path: Path) -> None:
        out = export(bundle, tmp_path / "out")
        load(untrained_bundle(tmp_path / "other", [("lmn", "nml")])).tokenizers.save(out)
        with pytest.raises(HeedfulError, match=r"are not those of its graphs\.\nhint: Copy the whole folder"):
            target.open_export(out)

    def test_damaged_weights_are_no_output(self, bundle: Path, tmp_path: Path) -> None:
        broken = load_bundle(bundle)
        with torch.no_grad():
            next(broken.model.parameters()).fill_(np.nan)
        (tmp_path / "out").mkdir()
        write_export(broken, tmp_path / "out", "onnx", "float32")
        with pytest.raises(HeedfulError, match=r"no output for line 1.*\n.*NaN"):
            target.open_export(tmp_path / "out").translate(["abc"])


def test_without_the_packages(bundle: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        HeedfulError, match=r"package onnx is not installed\.\nhint: Install it: pip install 'heedful\[onnx\]'"
    ):
        export(bundle, tmp_path / "out")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        HeedfulError, match=r"package onnxruntime is not installed\.\nhint: Install it: pip install 'heedful\[onnx\]'"
    ):
        target.open_export(folder)


def test_is_an_engine(folder: Path) -> None:
    engine: Engine = target.open_export(folder)
    assert isinstance(engine, Translator)
    assert isinstance(engine.backend.model, OnnxModel)
