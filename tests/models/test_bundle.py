"""The bundle: save = load, a text for everything that can be wrong with one, and never half a bundle."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.models.tiny import batch_of, tiny_config

from heedful.config import to_tree
from heedful.errors import HeedfulError
from heedful.models.bundle import Bundle, is_bundle, load_bundle, save_bundle
from heedful.models.kinds import build_model
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizers

LINES = [("abc abd", "xyz"), ("bcd", "zyx w")]


def made(joint: bool = True, seed: int = 0) -> Bundle:
    """A small model with characters for tokens."""
    characters = SideConfig(kind="characters")
    tokenizers: Tokenizers = train_tokenizers(TokenizerConfig(joint=joint, source=characters), LINES, seed=1)
    config = tiny_config({} if joint else {"tie": "decoder"})
    torch.manual_seed(seed)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target)).eval()
    return Bundle(model, tokenizers, {"seed": 7, "model": to_tree(config), "note": {"kept": ["as", "it is"]}}, config)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_bundle(tmp_path / "model", made(), "# A card\n")
    return tmp_path / "model"


@pytest.mark.parametrize("joint", [True, False], ids=["joint", "apart"])
def test_save_is_load(tmp_path: Path, joint: bool) -> None:
    saved = made(joint)
    save_bundle(tmp_path / "model", saved, "# A card\n")
    loaded = load_bundle(tmp_path / "model")
    assert loaded.recipe == saved.recipe
    assert loaded.tokenizers.joint == joint
    assert loaded.tokenizers.source.encode("abd") == saved.tokenizers.source.encode("abd")
    assert loaded.tokenizers.target.decode([4, 5]) == saved.tokenizers.target.decode([4, 5])
    batch = batch_of([([4, 5, 6], [4, 5])])
    hidden = [bundle.model(batch.src, batch.src_mask, batch.tgt_in) for bundle in (saved, loaded)]
    assert torch.equal(hidden[0], hidden[1])
    assert not loaded.model.training


def test_holds_everything_and_no_pickle(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "bundle.toml",
        "model.safetensors",
        "recipe.toml",
        "tokenizer.joint.toml",
        "tokenizer.joint.vocab",
    ]
    assert (folder / "README.md").read_text("utf-8") == "# A card\n"
    assert is_bundle(folder)


def test_can_be_moved(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "m"
    moved.parent.mkdir()
    shutil.move(folder, moved)
    assert load_bundle(moved).recipe["seed"] == 7


def replace_in(name: str, old: str, new: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        text = (folder / name).read_text("utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), "utf-8")

    return harm


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (without("bundle.toml"), "is no bundle: it has no bundle.toml"),
        (shutil.rmtree, "does not exist"),
        (without("recipe.toml"), "recipe.toml"),
        (without("model.safetensors"), r"There is no .*model\.safetensors"),
        (without("tokenizer.joint.toml"), "holds no source tokenizer"),
        (without("tokenizer.joint.vocab"), "No vocabulary at"),
        (replace_in("bundle.toml", "format = 1", "format = 99"), "has bundle format 99, but this version reads 1"),
        (replace_in("bundle.toml", "format = 1", "form at = 1"), r"bundle\.toml"),
        (replace_in("tokenizer.joint.vocab", "\nd\n", "\nq\n"), "are not those of this model"),
        (replace_in("recipe.toml", "d_ff = 20", "d_ff = 21"), r"is \[20, 12\], but the model's is \[21, 12\]"),
        (replace_in("recipe.toml", "d_ff = 20", "d_fff = 20"), "d_fff"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"PK"), "is damaged"),
    ],
)
def test_what_can_be_wrong(folder: Path, harm: Callable[[Path], None], message: str) -> None:
    harm(folder)
    with pytest.raises(HeedfulError, match=message):
        load_bundle(folder)


def test_a_file_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("no")
    with pytest.raises(HeedfulError, match="is a file") as caught:
        load_bundle(tmp_path / "model")
    assert caught.value.hint == "Name the `model` folder of a finished run, or the run directory itself."


def test_a_later_one_replaces_the_former(folder: Path) -> None:
    save_bundle(folder, made(seed=1), "# Another\n")
    assert (folder / "README.md").read_text("utf-8") == "# Another\n"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("writes", range(6))
def test_a_full_disk_leaves_the_former(folder: Path, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """The disk takes so many files, and no more."""
    left, fsync = [writes], os.fsync

    def until_full(descriptor: int) -> None:
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", until_full)
    with pytest.raises(HeedfulError, match=r"The disk is full: .* could not be written"):
        save_bundle(folder, made(seed=1), "# Another\n")
    monkeypatch.undo()
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert (folder / "README.md").read_text("utf-8") == "# A card\n"
    kept, expected = (torch.cat([p.flatten() for p in b.model.parameters()]) for b in (load_bundle(folder), made()))
    assert torch.equal(kept, expected)
