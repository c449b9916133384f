"""`heedful report`: the report of any run, finished or not, of any kind of model."""

import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.evaluation.outline import Outline
from tests.pipeline.little import MEASURING, QUICK, TRAINING, WORDS, little_run, write_pairs
from tests.pipeline.test_kinds import KINDS

from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe
from heedful.records.run import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("a run"))


def sections(page: str) -> list[str | None]:
    return [value for tag, name, value in Outline(page).attributes if (tag, name) == ("section", "id")]


def test_is_written_into_the_run_and_refreshed(run: Path, heedful: Callable) -> None:
    outcome = heedful("report", str(run))
    assert (outcome.code, outcome.out) == (0, "")
    assert f"Wrote {run / 'report.html'}" in outcome.err
    page = (run / "report.html").read_text("utf-8")
    assert sections(page) == ["scores", "curves", "attention", "errors", "data", "recipe", "next"]
    (run / "report.html").write_text("old")
    assert heedful("report", str(run)).code == 0
    assert (run / "report.html").read_text("utf-8") == page


def test_an_output_keeps_what_it_is(run: Path, tmp_path: Path, heedful: Callable) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text("former")
    target.chmod(0o600)
    link.symlink_to(target)
    assert heedful("report", str(run), "--output", str(link)).code == 0
    assert link.is_symlink()
    assert target.read_text("utf-8").startswith("<!doctype html>")
    assert target.stat().st_mode & 0o777 == 0o600


def test_pictures_name_their_layer_and_head_and_have_a_scale(run: Path, heedful: Callable) -> None:
    heedful("report", str(run))
    page = (run / "report.html").read_text("utf-8")
    texts = Outline(page).texts
    assert 1 <= texts.count("Cross-attention, decoder layer 0, mean of 2 heads") <= 8
    assert texts.count("attention weight") == page.count('<figure class="picture"')


def test_next_commands_name_the_run_as_a_shell_reads_it(run: Path, heedful: Callable) -> None:
    heedful("report", str(run))
    copied = Outline((run / "report.html").read_text("utf-8")).values("data-copy")
    assert f"heedful translate '{run}' FILE" in copied


def test_it_goes_where_it_is_told(run: Path, tmp_path: Path, heedful: Callable) -> None:
    (run / "report.html").unlink(missing_ok=True)
    assert heedful("report", str(run), "--output", str(tmp_path / "page.html")).code == 0
    assert (tmp_path / "page.html").is_file()
    assert not (run / "report.html").exists()
    outcome = heedful("report", str(run), "--output", str(tmp_path / "no" / "page.html"))
    assert outcome.code == 2
    assert f"There is no folder {tmp_path / 'no'}" in outcome.err


def test_open_shows_it_and_says_where_it_could_not(
    run: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(asked.append(address)))
    heedful("report", str(run))
    heedful("report", str(run), "--no-open")
    assert asked == []
    outcome = heedful("report", str(run), "--open")
    assert asked == [(run / "report.html").absolute().as_uri()]
    assert outcome.code == 0
    assert "No browser could be opened here." in outcome.err


def test_what_is_no_run_is_refused(tmp_path: Path, run: Path, heedful: Callable) -> None:
    for folder in (tmp_path / "none", tmp_path, run / "model"):
        outcome = heedful("report", str(folder))
        assert outcome.code == 2
        assert "run directory" in outcome.err


def test_a_run_that_has_only_begun(tmp_path: Path, heedful: Callable) -> None:
    Run.create(tmp_path / "new", '[data]\ncatalogue = "reverse"\n', ["heedful", "train"])
    assert heedful("report", str(tmp_path / "new")).code == 0
    page = (tmp_path / "new" / "report.html").read_text("utf-8")
    assert "incomplete: missing" in page
    assert f"heedful train --resume {tmp_path / 'new'}" in Outline(page).values("data-copy")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model(kind: str, tmp_path: Path, heedful: Callable) -> None:
    settings = [*write_pairs(tmp_path / "data"), *TRAINING, *MEASURING, *WORDS, *QUICK, "model.d_model=16"]
    folder = train(load_recipe(None, [*settings, *KINDS[kind], "model.tie=all"]), tmp_path / "run").run
    assert heedful("report", str(folder)).code == 0
    page = (folder / "report.html").read_text("utf-8")
    assert ("attention" in sections(page)) is (kind != "none")
