"""A setting of one method of search above settings of another, in the layers of a recipe."""

from pathlib import Path

import pytest

from heedful.decoding.config import BeamSearch, MBRSearch, SampleSearch, SearchConfig
from heedful.errors import ConfigError
from heedful.recipe.presets import PRESETS
from heedful.recipe.recipe import load_recipe, resolve_file

DATA = "data.catalogue=reverse"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A recipe with a beam and a limit of its own, above a preset with others."""
    path = tmp_path / "recipe.toml"
    path.write_text('preset = "paper-base"\n[data]\ncatalogue = "copy"\n[search]\nbeam = 3\nmax_extra = 7\n')
    return path


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ([], BeamSearch(beam=3, length_penalty=0.6, max_extra=7)),
        (["search.beam=2"], BeamSearch(beam=2, length_penalty=0.6, max_extra=7)),
        (["search.method=sample"], SampleSearch(max_extra=7)),
        (["search.temperature=0.5", "search.top_k=3"], SampleSearch(temperature=0.5, top_k=3, max_extra=7)),
        (["search.samples=4"], MBRSearch(samples=4, max_extra=7)),
        (["search.method=mbr", "search.candidates=both"], MBRSearch(candidates="both", beam=3, max_extra=7)),
        (
            ["search.method=mbr", "search.candidates=beam", "search.beam=2"],
            MBRSearch(candidates="beam", beam=2, max_extra=7),
        ),
    ],
)
def test_what_is_above_chooses(changes: list[str], wanted: SearchConfig, file: Path) -> None:
    assert load_recipe(file, changes).search == wanted


@pytest.mark.parametrize("preset", [name for name in PRESETS if name not in ("tagger", "ctc")])
@pytest.mark.parametrize("method", ["sample", "mbr"])
def test_over_every_preset(preset: str, method: str) -> None:
    found = resolve_file(None, [f"preset={preset}", DATA, f"search.method={method}"])
    assert found.config.search.method == method
    assert found.origins["search.method"] == "command line"


def test_a_file_above_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('preset = "character"\n[data]\ncatalogue = "copy"\n[search]\ntemperature = 0.5\n')
    found = resolve_file(path)
    assert found.config.search == SampleSearch(temperature=0.5)
    assert found.origins["search.temperature"] == f"{path}, line 5"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            ["search.temperature=1", "search.beam=3"],
            'unknown key `search.beam`.\nhint: It is a key of `search.method` = "beam"',
        ),
        (["search.top_k=3"], 'unknown key `search.top_k`.\nhint: It is a key of `search.method` = "sample"'),
        (["search.samples=4", "search.beam=2"], '`beam` is of `candidates` = "beam" or "both", but that is "samples"'),
        (["search.method=beams"], "`search.method` cannot be 'beams'.\nhint: Did you mean `beam`?"),
        (["search.method=[1]"], "`search.method` cannot be [1]."),
        (["search.method=sample", "search.baem=2"], "unknown key `search.baem`."),
        (["search=3"], "`search` must be a table, but is 3."),
    ],
)
def test_contradictions_within_one_layer_stay(changes: list[str], said: str, file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_recipe(file, changes)
    assert f"command line: {said}" in str(caught.value) or f"command line: [search]: {said}" in str(caught.value)


def test_no_table_at_all_below(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('preset = "paper-base"\nsearch = 3\n[data]\ncatalogue = "copy"\n')
    with pytest.raises(ConfigError, match=r"line 2: `search` must be a table, but is 3\."):
        load_recipe(path)
    assert load_recipe(path, ["search.temperature=1"]).search == SampleSearch(max_extra=50)
