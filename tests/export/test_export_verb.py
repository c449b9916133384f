"""`heedful export` with a target of the tests: what is refused, what is kept, and what is left behind."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import little_run, untrained_bundle

from heedful.errors import HeedfulError
from heedful.export import targets
from heedful.export.targets import open_export, read_export
from heedful.pipeline.load import load
from heedful.records.checksums import SUMS

PAIRS = [("abc de", "cba ed"), ("fghi", "ihgf"), ("jk", "kj")]
TEXT = "abc\nde f\n\njk\n"


@pytest.fixture(autouse=True)
def target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.TARGETS, "again", "tests.export.native_again")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_bundle(tmp_path_factory.mktemp("random") / "model", PAIRS)


@pytest.fixture
def dev(tmp_path: Path) -> str:
    path = tmp_path / "dev.txt"
    path.write_text(TEXT)
    return str(path)


class TestGood:
    def test_is_put_in_place_with_its_report(self, bundle: Path, dev: str, tmp_path: Path, heedful: Callable) -> None:
        out = tmp_path / "new" / "out"
        outcome = heedful("export", str(bundle), str(out), "--to", "again", "--dev", dev)
        assert outcome.code == 0, outcome.err
        assert "4 of 4 texts equal (100.0%)" in outcome.out
        assert [path.name for path in out.parent.iterdir()] == ["out"]
        assert json.loads((out / "parity.json").read_text())["failures"] == []
        assert read_export(out) == (out, "again", "float32")
        assert open_export(out).translate(["abc"]) == load(bundle).translate(["abc"])

    def test_json(self, bundle: Path, dev: str, tmp_path: Path, heedful: Callable) -> None:
        out = tmp_path / "out"
        outcome = heedful("export", str(bundle), str(out), "--to", "again", "--dev", dev, "--sentences", "2", "--json")
        facts = json.loads(outcome.out)
        assert (facts["folder"], facts["target"], facts["type"]) == (str(out), "again", "float32")
        assert (facts["lines"], facts["equal"], facts["first_divergence"]) == (2, 2, None)
        assert facts["largest_log_p_difference"] == 0

    def test_a_run_brings_its_own_sentences(self, tmp_path: Path, heedful: Callable) -> None:
        run = little_run(tmp_path / "little", "tokenizer.source.kind=characters")
        outcome = heedful("export", str(run), str(tmp_path / "out"), "--to", "again", "--sentences", "5")
        assert outcome.code == 0, outcome.err
        assert "5 of 5 texts equal" in outcome.out
        (tmp_path / "little" / "data" / "dev.tsv").unlink()
        outcome = heedful("export", str(run), str(tmp_path / "other"), "--to", "again")
        assert outcome.code == 2
        assert f"The dev split of {run} cannot be read" in outcome.err
        assert "hint: Name a file of sentences, one a line, by --dev." in outcome.err


class TestRefused:
    """Each before any work: nothing is written."""

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--to", "nowhere"), 'There is no target "nowhere".'),
            (("--to", "again", "--type", "int3"), 'The target again has no precision "int3".'),
            (("--to", "again"), "is no run directory, so it has no dev split."),
        ],
    )
    def test_options(
        self, options: tuple[str, ...], said: str, bundle: Path, tmp_path: Path, heedful: Callable
    ) -> None:
        outcome = heedful("export", str(bundle), str(tmp_path / "out"), *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert said in outcome.err
        assert "hint: " in outcome.err
        assert list(tmp_path.iterdir()) == []

    def test_a_model_that_cannot_be_expressed(self, dev: str, tmp_path: Path, heedful: Callable) -> None:
        changes = ("tokenizer.source.kind=words", "model.norm=pre")
        folder = untrained_bundle(tmp_path / "model", PAIRS, *changes)
        outcome = heedful("export", str(folder), str(tmp_path / "out"), "--to", "again", "--dev", dev)
        assert outcome.code == 2
        assert 'again cannot express this model: a WordTokenizer; norm = "pre".' in outcome.err
        assert not (tmp_path / "out").exists()

    def test_attention_that_is_native(self, dev: str, tmp_path: Path, heedful: Callable) -> None:
        changes = ("tokenizer.source.kind=words", "model.attention_top_k=3", "model.attention_window=4")
        folder = untrained_bundle(tmp_path / "model", PAIRS, *changes)
        outcome = heedful("export", str(folder), str(tmp_path / "out"), "--to", "again", "--dev", dev)
        assert outcome.code == 2
        assert "again cannot express this model: attention_top_k = 3; attention_window = 4; " in outcome.err
        assert "hint: No target has attention_top_k: heedful itself does." in outcome.err

    def test_a_place_that_is_taken(self, bundle: Path, dev: str, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "out").mkdir()
        outcome = heedful("export", str(bundle), str(tmp_path / "out"), "--to", "again", "--dev", dev)
        assert outcome.code == 2
        assert f"{tmp_path}/out exists already." in outcome.err
        assert list((tmp_path / "out").iterdir()) == []

    @pytest.mark.parametrize("model", ["model", "nowhere"])
    def test_that_is_said_before_anything_else(self, model: str, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "out").mkdir()
        for verb, options in (("export", ("--to", "nowhere", "--dev", "nowhere")), ("import", ("--dev", "nowhere"))):
            outcome = heedful(verb, str(tmp_path / model), str(tmp_path / "out"), *options)
            hint = "hint: Name a new folder, or remove this one first.\n"
            assert outcome == (2, "", f"error: {tmp_path}/out exists already.\n{hint}")

    def test_no_text(self, bundle: Path, dev: str, tmp_path: Path, heedful: Callable) -> None:
        Path(dev).write_text("\n\n")
        outcome = heedful("export", str(bundle), str(tmp_path / "out"), "--to", "again", "--dev", dev)
        assert outcome.code == 1
        assert "There is no text to compare the engines on." in outcome.err
        assert [path.name for path in tmp_path.iterdir()] == ["dev.txt"]


class TestBad:
    def test_is_kept_beside_its_place(self, bundle: Path, dev: str, tmp_path: Path, heedful: Callable) -> None:
        (tmp_path / "out.failed").mkdir()
        (tmp_path / "out.failed" / "earlier").touch()
        (tmp_path / "out.failed" / "parity.json").write_text("{}")  # an earlier failure: it may be replaced
        arguments = ("export", str(bundle), str(tmp_path / "out"), "--to", "again", "--type", "spoilt", "--dev", dev)
        outcome = heedful(*arguments)
        assert (outcome.code, outcome.out) == (3, "")
        assert "The export differs from the model: only " in outcome.err
        assert f"kept as {tmp_path}/out.failed with its report" in outcome.err
        assert "differs first, from token " in outcome.err
        assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.txt", "out.failed"]
        assert json.loads((tmp_path / "out.failed" / "parity.json").read_text())["failures"]
        assert not (tmp_path / "out.failed" / "earlier").exists()

    def test_full_disk(
        self, bundle: Path, dev: str, tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_arguments: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("tests.export.native_again.export", full)
        outcome = heedful("export", str(bundle), str(tmp_path / "out"), "--to", "again", "--dev", dev)
        assert outcome.code == 1
        assert f"The disk is full: {tmp_path}/out could not be written." in outcome.err
        assert [path.name for path in tmp_path.iterdir()] == ["dev.txt"]


class TestReading:
    def test_what_is_no_export(self, bundle: Path) -> None:
        with pytest.raises(HeedfulError, match=r"is no export: it has no export\.toml"):
            open_export(bundle)

    def test_another_version(self, tmp_path: Path) -> None:
        (tmp_path / "export.toml").write_text('format = 9\nheedful = "7.0"\ntarget = "again"\ntype = "float32"\n')
        with pytest.raises(HeedfulError, match=r"format 9 for again, which this version cannot read.\nhint: .*7\.0"):
            open_export(tmp_path)

    @pytest.fixture
    def exported(self, bundle: Path, dev: str, tmp_path: Path, heedful: Callable) -> Path:
        out = tmp_path / "sealed"
        assert heedful("export", str(bundle), str(out), "--to", "again", "--dev", dev).code == 0
        return out

    @pytest.mark.parametrize("name", ["weights.safetensors", "tokenizer.joint.vocab"])
    @pytest.mark.parametrize("harm", ["cut", "changed", "gone"])
    def test_files_that_are_not_those_written(self, name: str, harm: str, exported: Path) -> None:
        path = exported / name
        data = path.read_bytes()
        path.write_bytes(data[:-1] if harm == "cut" else data[:-1] + bytes([data[-1] ^ 1]))
        if harm == "gone":
            path.unlink()
        said = "is missing" if harm == "gone" else "is damaged: it is not as it was written"
        with pytest.raises(HeedfulError, match=f"{name} {said}.\nhint: Copy the whole folder again"):
            open_export(exported)

    @pytest.mark.parametrize(("text", "said"), [(None, "is missing"), ("", r"has no \[model\]")])
    def test_settings_that_are_not_there(self, text: str | None, said: str, exported: Path) -> None:
        path = exported / "recipe.toml"
        (exported / SUMS).unlink()  # as of an earlier version, which had none for the settings
        (exported / "export.toml").write_text((exported / "export.toml").read_text().replace("checksums", "former"))
        path.unlink() if text is None else path.write_text(text)
        with pytest.raises(HeedfulError, match=f"recipe.toml {said}"):
            open_export(exported)

    def test_settings_may_be_changed_on_purpose(self, exported: Path) -> None:
        path = exported / "recipe.toml"
        path.write_text(path.read_text().replace("max_extra = 2", "max_extra = 3"))
        with pytest.raises(HeedfulError, match=r"recipe\.toml is damaged: .*\nhint: .*take its line out of SHA256SUMS"):
            open_export(exported)
        lines = (exported / SUMS).read_text().splitlines(keepends=True)
        (exported / SUMS).write_text("".join(line for line in lines if "recipe.toml" not in line))
        assert open_export(exported).search.max_extra == 3  # pyright: ignore[reportAttributeAccessIssue]


class TestSettings:
    def test_what_the_target_lacks_is_refused_before_any_work(
        self, dev: str, tmp_path: Path, heedful: Callable
    ) -> None:
        bundle = untrained_bundle(tmp_path / "model", PAIRS, "search.no_repeat_ngram=3")
        outcome = heedful("export", str(bundle), str(tmp_path / "out"), "--to", "again", "--dev", dev)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("error: again has no `no_repeat_ngram`, which this model's recipe asks for.")
        assert not (tmp_path / "out").exists()

    def test_another_folder_of_the_name_of_a_failure_stays(
        self, bundle: Path, dev: str, tmp_path: Path, heedful: Callable
    ) -> None:
        mine = tmp_path / "out.failed"
        mine.mkdir()
        (mine / "mine").write_text("kept")
        arguments = ("export", str(bundle), str(tmp_path / "out"), "--to", "again", "--type", "spoilt", "--dev", dev)
        assert heedful(*arguments).code == 3
        assert (mine / "mine").read_text() == "kept"
        (kept,) = tmp_path.glob("out.failed.*")
        assert (kept / "parity.json").is_file()

    @pytest.mark.parametrize("verb", ["inspect", "export"])
    def test_an_export_where_a_bundle_is_wanted(
        self, verb: str, bundle: Path, dev: str, tmp_path: Path, heedful: Callable
    ) -> None:
        out = tmp_path / "out"
        assert heedful("export", str(bundle), str(out), "--to", "again", "--dev", dev).code == 0
        more = ("abc",) if verb == "inspect" else (str(tmp_path / "more"), "--to", "again", "--dev", dev)
        outcome = heedful(verb, str(out), *more)
        assert outcome.code == 2
        assert "is an export, for another program, and here a bundle is wanted." in outcome.err
