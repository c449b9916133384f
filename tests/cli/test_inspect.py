"""`heedful inspect` and `heedful align` on a small bundle: every output, and every way to ask for it wrongly."""

import json
from pathlib import Path

import pytest
import torch

from heedful.config import to_tree
from heedful.data.config import DataConfig
from heedful.decoding.config import BeamSearch
from heedful.models.bundle import Bundle, save_bundle
from heedful.models.kinds import build_model
from heedful.models.transformer_config import TransformerConfig
from heedful.pipeline.load import load
from heedful.recipe.recipe import Recipe
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

PAIRS = [("heedful", "HH IY D F AH L"), ("needed", "N IY D IH D")]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model of two layers and two heads, letters to sounds."""
    tokenizer = TokenizerConfig(joint=False, source=SideConfig(kind="characters"), target=SideConfig(kind="words"))
    model = TransformerConfig(
        d_model=16,
        n_heads=2,
        d_ff=32,
        n_encoder_layers=2,
        n_decoder_layers=2,
        norm="pre",
        activation="relu",
        tie="none",
    )
    data, search = DataConfig(catalogue="cmudict"), BeamSearch(max_extra=3)
    recipe = Recipe(data=data, tokenizer=tokenizer, model=model, search=search)
    tokenizers = train_tokenizers(tokenizer, PAIRS, seed=1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        built = build_model(model, len(tokenizers.source), len(tokenizers.target))
    folder = tmp_path_factory.mktemp("bundle") / "model"
    save_bundle(folder, Bundle(built, tokenizers, to_tree(recipe), recipe.model), "A model for tests.\n")
    return folder


def test_blocks_are_the_default(heedful, bundle: Path) -> None:
    done = heedful("inspect", str(bundle), "heedful", "--target", "HH IY D")
    assert done.code == 0
    lines = done.out.split("\n")
    assert lines[0] == "h e e d f u l </s>"
    assert lines[1].startswith("  ⇒ HH IY D </s>   log p -")
    assert "Cross-attention, decoder layer 1, mean of heads" in lines
    assert any(line.startswith(" HH → IY ") for line in lines)
    assert "\x1b" not in done.out


def test_layer_head_and_kind_choose_the_blocks(heedful, bundle: Path) -> None:
    out = heedful("inspect", str(bundle), "need", "--kind", "encoder", "--layer", "0", "--head", "1").out
    assert "Self-attention, encoder layer 0, head 1" in out


def test_json_is_the_trace_one_line_a_text(heedful, bundle: Path) -> None:
    done = heedful("inspect", str(bundle), "heed", "fed", "--json")
    traces = [json.loads(line) for line in done.out.splitlines()]
    assert [trace["source"] for trace in traces] == [["h", "e", "e", "d", "</s>"], ["f", "e", "d", "</s>"]]
    expected = load(bundle).trace("fed")
    assert traces[1]["predicted"] == expected.predicted
    for found, known in zip(traces[1]["maps"], expected.maps, strict=True):
        assert torch.equal(torch.tensor(found["weights"]), known.weights)


def test_files_are_written_and_said_on_standard_error(heedful, bundle: Path, tmp_path: Path) -> None:
    names = {"--html": "page.html", "--svg": "map.svg", "--png": "map.png"}
    options = [part for option, name in names.items() for part in (option, str(tmp_path / name))]
    done = heedful("inspect", str(bundle), "heedful", *options)
    assert (done.code, done.out) == (0, "")
    starts = {"page.html": b"<!doctype html>", "map.svg": b"<?xml", "map.png": b"\x89PNG"}
    for name, start in starts.items():
        assert (tmp_path / name).read_bytes().startswith(start)
        assert str(tmp_path / name) in done.err


def test_files_that_are_there_keep_what_they_are(heedful, bundle: Path, tmp_path: Path) -> None:
    for name, option in (("page.html", "--html"), ("map.svg", "--svg"), ("map.png", "--png")):
        target, link = tmp_path / f"target.{name}", tmp_path / name
        target.write_text("former")
        target.chmod(0o600)
        link.symlink_to(target)
        assert heedful("inspect", str(bundle), "heed", option, str(link)).code == 0
        assert link.is_symlink()
        assert target.read_bytes()[:6] != b"former"
        assert target.stat().st_mode & 0o777 == 0o600


def test_texts_from_standard_input(heedful, bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("heed\nfed\n")
    with (tmp_path / "in").open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        done = heedful("inspect", str(bundle), "-", "--json")
    assert len(done.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heed", "--layer", "2"], "`--layer` must be 0 to 1, but is 2."),
        (["heed", "--head", "2"], "`--head` must be 0 to 1 or mean, but is 2."),
        (["heed", "--head", "best"], "`--head` must be 0 to 1 or mean, but is best."),
        (["heed", "fed", "--target", "D"], "There are 2 texts but 1 targets."),
        (["heed", "fed", "--png", "a.png"], "A figure shows one text, but 2 are given."),
        (["heed", "--png", "a.svg"], "a.svg does not end in .png."),
        (["heed", "--html", "no/such/folder/a.html"], "There is no folder no/such/folder to write a.html into."),
    ],
)
def test_wrong_usage_has_one_message_a_hint_and_exit_code_two(
    heedful, bundle: Path, arguments: list[str], message: str
) -> None:
    done = heedful("inspect", str(bundle), *arguments)
    assert done.code == 2
    error, hint = done.err.splitlines()
    assert error == f"error: {message}"
    assert hint.startswith("hint: ")


def test_a_path_that_is_no_model(heedful, tmp_path: Path) -> None:
    done = heedful("inspect", str(tmp_path), "heed")
    assert done.code == 2
    assert "is neither a bundle nor a run directory" in done.err
