"""`heedful config`: its text, its JSON, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text('preset = "character"\n\n[data]\ncatalogue = "cmudict"\n\n[model]\nd_model = 64\n')
    return path


class TestShow:
    def test_recipe_with_override(self, recipe: Path, heedful: Callable) -> None:
        outcome = heedful("config", "show", str(recipe), "training.max_updates=700", "--json")
        assert (outcome.code, outcome.err) == (0, "")
        shown = json.loads(outcome.out)
        assert shown["model.d_model"] == {"value": 64, "origin": f"{recipe}, line 7"}
        assert shown["model.norm"] == {"value": "pre", "origin": "preset character"}
        assert shown["training.max_updates"] == {"value": 700, "origin": "command line"}
        assert shown["search.max_source"]["origin"] == "default"

    def test_text_has_the_same_values(self, recipe: Path, heedful: Callable) -> None:
        shown = json.loads(heedful("config", "show", str(recipe), "--json").out)
        rows = [line.split(maxsplit=1) for line in heedful("config", "show", str(recipe)).out.splitlines()]
        assert [key for key, _ in rows] == list(shown)
        for key, rest in rows:
            assert rest.startswith(json.dumps(shown[key]["value"]))
            assert rest.endswith(shown[key]["origin"])

    def test_preset_shows_no_data_of_its_own(self, heedful: Callable) -> None:
        shown = json.loads(heedful("config", "show", "paper-base", "--json").out)
        assert shown["model.d_model"] == {"value": 512, "origin": "preset paper-base"}
        assert "data.catalogue" not in shown

    def test_unknown_name(self, heedful: Callable) -> None:
        outcome = heedful("config", "show", "paper-bse")
        assert outcome == (2, "", "error: Unknown preset `paper-bse`.\nhint: Did you mean `paper-base`?\n")

    def test_missing_file(self, heedful: Callable) -> None:
        outcome = heedful("config", "show", "none.toml")
        assert outcome.code == 2
        assert outcome.err.startswith("error: No configuration file at none.toml.\n")

    def test_typo_in_the_file(self, recipe: Path, heedful: Callable) -> None:
        recipe.write_text(recipe.read_text().replace("d_model", "d_modle"))
        outcome = heedful("config", "show", str(recipe))
        assert outcome.code == 2
        assert outcome.err == (
            f"error: {recipe}, line 7: unknown key `model.d_modle`.\nhint: Did you mean `model.d_model`?\n"
        )


class TestDiff:
    def test_versions_of_t2t(self, heedful: Callable) -> None:
        """The differences that tensor2tensor's own sets have: see docs/paper-map.md for the source."""
        found = json.loads(heedful("config", "diff", "t2t-base-v1", "t2t-base-v2", "--json").out)
        del found["preset"]
        assert found == {
            "model.norm": {"left": "post", "right": "pre"},
            "model.attention_dropout": {"left": 0.0, "right": 0.1},
            "model.ffn_dropout": {"left": 0.0, "right": 0.1},
            "training.learning_rate": {"left": 1.0, "right": 2.0},
            "training.warmup_steps": {"left": 4000, "right": 8000},
        }

    def test_recipe_against_its_preset(self, recipe: Path, heedful: Callable) -> None:
        lines = heedful("config", "diff", str(recipe), "character").out.splitlines()
        assert ["model.d_model", "64", "128"] in [line.split() for line in lines]

    def test_equals(self, heedful: Callable) -> None:
        assert heedful("config", "diff", "character", "character") == (
            0,
            "",
            "character and character do not differ.\n",
        )


def test_schema_is_one_for_every_section(heedful: Callable) -> None:
    schema = json.loads(heedful("config", "schema").out)
    assert set(schema["required"]) == {"data", "model"}
    assert schema["additionalProperties"] is False
    assert {"TransformerConfig", "TrainingConfig", "DataConfig", "BeamSearch", "SampleSearch", "MBRSearch"} <= set(
        schema["$defs"]
    )


def test_presets(heedful: Callable) -> None:
    listed = json.loads(heedful("config", "presets", "--json").out)
    assert {"paper-base", "paper-big", "t2t-base-v1", "multi30k-tiny", "character", "torch-default"} <= set(listed)
    for name, description in listed.items():
        assert f"{name} " in heedful("config", "presets").out
        assert description in heedful("config", "presets").out


class TestTable3:
    def test_text(self, heedful: Callable) -> None:
        rows = [line.split() for line in heedful("config", "table3").out.splitlines()]
        assert ["base", "63.0", "+0.0", "65", "+0"] in rows
        assert ["(C)", "N=2", "33.6", "-29.4", "36", "-29"] in rows

    def test_json(self, heedful: Callable) -> None:
        rows = json.loads(heedful("config", "table3", "--vocab-size", "40000", "--json").out)
        by_name = {row["row"]: row for row in rows}
        assert by_name["(C) d_ff=4096"]["difference"] == 12 * 2 * 512 * 2048 + 12 * 2048
        assert by_name["(A) h=1"]["paper_millions"] is None
