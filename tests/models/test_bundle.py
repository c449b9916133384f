"""The bundle: save = load, a text for everything that can be wrong with one, and never half a bundle."""

import errno
import math
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import tomlkit
import torch
from tests.models.tiny import batch_of, tiny_config

from heedful.config import to_tree
from heedful.errors import HeedfulError
from heedful.models.bundle import Bundle, is_bundle, load_bundle, save_bundle
from heedful.models.kinds import build_model
from heedful.records.checksums import SUMS, write_checksums
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizers

LINES = [("abc abd", "xyz"), ("bcd", "zyx w")]


def made(joint: bool = True, seed: int = 0, lines: Sequence[tuple[str, str]] = LINES) -> Bundle:
    """A small model with characters for tokens."""
    characters = SideConfig(kind="characters")
    tokenizers: Tokenizers = train_tokenizers(TokenizerConfig(joint=joint, source=characters), lines, seed=1)
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
        "SHA256SUMS",
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
    """With a bundle as earlier versions wrote it, and with checksums."""
    old = Path(shutil.copytree(folder, folder.with_name("old")))
    (old / SUMS).unlink()
    replace_in("bundle.toml", 'checksums = "sha256"\n', "")(old)
    load_bundle(old)
    harm(old)
    with pytest.raises(HeedfulError, match=message):
        load_bundle(old)
    harm(folder)
    with pytest.raises(HeedfulError):
        load_bundle(folder)


class TestChecksums:
    @pytest.mark.parametrize(
        "name",
        [
            "model.safetensors",
            "recipe.toml",
            "tokenizer.joint.toml",
            "tokenizer.joint.vocab",
            "bundle.toml",
        ],
    )
    def test_no_flipped_byte_is_believed(self, folder: Path, name: str) -> None:
        path, chance = folder / name, random.Random(1)
        whole = path.read_bytes()
        for _ in range(20):
            place, change = chance.randrange(len(whole)), chance.randint(1, 255)
            path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
            with pytest.raises(HeedfulError):
                load_bundle(folder)
        path.write_bytes(whole)
        load_bundle(folder)

    def test_the_program_sha256sum_agrees(self, folder: Path) -> None:
        done = subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(": OK\n") == 5

    def test_a_file_whose_line_was_taken_out_may_be_edited(self, folder: Path) -> None:
        replace_in("recipe.toml", "seed = 7", "seed = 8")(folder)
        with pytest.raises(HeedfulError, match=r"recipe\.toml is damaged: it is not as it was written") as caught:
            load_bundle(folder)
        assert "take its line out of SHA256SUMS" in (caught.value.hint or "")
        lines = (folder / SUMS).read_text().splitlines(keepends=True)
        (folder / SUMS).write_text("".join(line for line in lines if "recipe.toml" not in line))
        assert load_bundle(folder).recipe["seed"] == 8

    def test_the_card_may_be_edited(self, folder: Path) -> None:
        """It is for people, who add to it what the program cannot know."""
        (folder / "README.md").write_text("licence: mine\n")
        assert load_bundle(folder).recipe["seed"] == 7

    def test_without_its_checksums_it_is_not_whole(self, folder: Path) -> None:
        (folder / SUMS).unlink()
        with pytest.raises(HeedfulError, match=r"SHA256SUMS is missing.\nhint: Copy the whole folder again"):
            load_bundle(folder)


class TestWhatAStrangerClaims:
    """A bundle that somebody made by hand, with checksums that agree."""

    @pytest.mark.parametrize("value", [10**9, 10**18])
    @pytest.mark.parametrize(
        "key",
        [
            "n_encoder_layers",
            "n_decoder_layers",
            "d_model",
            "d_ff",
            "n_heads",
            "d_k",
            "max_positions",
            "attention_top_k",
            "attention_window",
        ],
    )
    def test_sizes_that_the_weights_do_not_bear_out(self, folder: Path, key: str, value: int) -> None:
        """Refused at once: none of these models is begun to be built."""
        tree = tomlkit.parse((folder / "recipe.toml").read_text())
        if key == "max_positions":
            tree["model"]["positions"] = "learned"  # pyright: ignore[reportIndexIssue]
        tree["model"][key] = value  # pyright: ignore[reportIndexIssue]
        (folder / "recipe.toml").write_text(tomlkit.dumps(tree))
        (folder / SUMS).unlink()
        write_checksums(folder)
        began = time.process_time()
        with pytest.raises(HeedfulError, match=rf"`model\.{key}` is 1,000,000,000|`n_heads` must divide"):
            load_bundle(folder)
        assert time.process_time() - began < 2

    def test_a_recipe_whose_parts_contradict_each_other(self, tmp_path: Path) -> None:
        """One matrix for two vocabularies of different sizes."""
        save_bundle(tmp_path / "model", made(joint=False, lines=[*LINES, ("q", "z")]), "")
        replace_in("recipe.toml", 'tie = "decoder"', 'tie = "all"')(tmp_path / "model")
        (tmp_path / "model" / SUMS).unlink()
        write_checksums(tmp_path / "model")
        with pytest.raises(HeedfulError, match=r"recipe\.toml: `tie` = .*shares one matrix"):
            load_bundle(tmp_path / "model")

    @pytest.mark.parametrize("name", ["model.safetensors", "recipe.toml", "tokenizer.joint.vocab", SUMS, "README.md"])
    def test_a_pipe_in_place_of_a_file(self, folder: Path, name: str) -> None:
        """Reading it would never end."""
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(HeedfulError, match=rf"{name} is no regular file"):
            load_bundle(folder)

    def test_a_link_to_a_device(self, folder: Path) -> None:
        (folder / "README.md").unlink()
        (folder / "README.md").symlink_to("/dev/zero")
        with pytest.raises(HeedfulError, match=r"README\.md is no regular file"):
            load_bundle(folder)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_weights_that_are_no_numbers(tmp_path: Path, number: float) -> None:
    spoilt = made()
    name, parameter = list(spoilt.model.named_parameters())[-1]
    with torch.no_grad():
        parameter.view(-1)[-1] = number
    save_bundle(tmp_path / "model", spoilt, "")
    with pytest.raises(HeedfulError, match=rf"model\.safetensors: `{name}` has numbers that are not finite") as caught:
        load_bundle(tmp_path / "model")
    assert "another checkpoint" in (caught.value.hint or "")


def test_killed_between_the_old_one_and_the_new(folder: Path) -> None:
    """The old one is back, and the next save takes the new one away that was not put in its place."""
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    shutil.copytree(folder, folder.with_name(f".model.{dead}.partial"))
    folder.rename(folder.with_name(f".model.{dead}.former"))
    assert load_bundle(folder).recipe["seed"] == 7
    save_bundle(folder, made(seed=1), "# Another\n")
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


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
