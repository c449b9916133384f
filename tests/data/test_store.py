"""The store keeps what it was given, and says what it left out."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.data.made_up import pairs, word_tokenizers

from heedful.data import store as store_module
from heedful.data.corpus import Pair, fingerprint
from heedful.data.store import PairStore, build_store, open_store
from heedful.errors import HeedfulError
from heedful.records.checksums import SUMS

CORPUS = pairs(100)
TOKENIZERS = word_tokenizers(CORPUS)
LONGER = Pair(" ".join(["pili"] * 50), "zyve")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PairStore:
    """Several chunks, with an empty pair and a long one among them."""
    monkeypatch.setattr(store_module, "CHUNK", 16)
    corpus = [*CORPUS[:20], Pair("", "x"), Pair("x", "  "), LONGER, *CORPUS[20:]]
    return build_store(tmp_path / "store", iter(corpus), TOKENIZERS, max_length=40)


def test_every_pair_is_there(store: PairStore) -> None:
    assert len(store) == len(CORPUS)
    for index, pair in enumerate(CORPUS):
        assert store.pair(index) == pair
        assert store.ids(index) == (TOKENIZERS.source.encode(pair.source), TOKENIZERS.target.encode(pair.target))
        assert [array.tolist() for array in store.arrays(index)] == list(store.ids(index))


def test_what_was_left_out(store: PairStore) -> None:
    assert store.dropped == {"empty": 2, "too long": 1}
    assert [store.origin(index) for index in (0, 19, 20, 99)] == [0, 19, 23, 102]


def test_lengths(store: PairStore) -> None:
    assert store.source_lengths.dtype == store.target_lengths.dtype == np.int32
    assert store.source_lengths.tolist() == [len(pair.source.split()) for pair in CORPUS]
    assert store.target_lengths.tolist() == [len(pair.target.split()) for pair in CORPUS]


def test_a_length_of_just_the_limit_is_kept(tmp_path: Path) -> None:
    kept = build_store(tmp_path, [LONGER, CORPUS[0]], TOKENIZERS, max_length=50)
    assert len(kept) == 2


def test_opening_again(store: PairStore, tmp_path: Path) -> None:
    again = open_store(tmp_path / "store")
    assert again.fingerprint == store.fingerprint == fingerprint(CORPUS).sha256
    assert again.dropped == store.dropped
    assert again.tokenizer_fingerprints == (TOKENIZERS.source.fingerprint, TOKENIZERS.target.fingerprint)
    assert again.pair(57) == CORPUS[57]


def test_ids_are_views_of_the_file(store: PairStore) -> None:
    """No copy in memory, however large the corpus."""
    source, target = store.arrays(3)
    assert not source.flags.owndata
    assert not target.flags.writeable


@pytest.mark.parametrize("index", [-1, 100])
def test_no_such_pair(store: PairStore, index: int) -> None:
    with pytest.raises(IndexError, match=rf"`index` must be in 0\.\.99, but is {index}\."):
        store.arrays(index)


def test_replaces_an_older_store(store: PairStore, tmp_path: Path) -> None:
    build_store(tmp_path / "store", CORPUS[:5], TOKENIZERS, max_length=40)
    assert len(open_store(tmp_path / "store")) == 5
    assert store.pair(99) == CORPUS[99]  # what was mapped before stays readable
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == [SUMS, "pairs.arrow", "store.json"]


def test_nothing_left(tmp_path: Path) -> None:
    with pytest.raises(HeedfulError, match=r"No training pair is left: 1 empty, 1 too long \(more than 40 tokens\)\."):
        build_store(tmp_path, [Pair("", ""), LONGER], TOKENIZERS, max_length=40)
    with pytest.raises(HeedfulError, match="holds no complete store"):
        open_store(tmp_path)


class TestDamage:
    def test_stopped_in_the_middle(self, store: PairStore, tmp_path: Path) -> None:
        """An interrupted rebuild leaves no store that looks complete."""

        def interrupted() -> object:
            yield from CORPUS[:50]
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            build_store(tmp_path / "store", interrupted(), TOKENIZERS, max_length=40)
        with pytest.raises(HeedfulError, match=r"holds no complete store \(store\.json is missing\)") as caught:
            open_store(tmp_path / "store")
        assert "it is made from the corpus" in (caught.value.hint or "")

    def test_cut_off(self, store: PairStore, tmp_path: Path) -> None:
        path = tmp_path / "store" / "pairs.arrow"
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(HeedfulError, match="is damaged: it is not as it was written"):
            open_store(tmp_path / "store")
        (tmp_path / "store" / SUMS).unlink()  # of an earlier version
        with pytest.raises(HeedfulError, match="is damaged: it should have"):
            open_store(tmp_path / "store")

    @pytest.mark.parametrize("name", ["pairs.arrow", "store.json"])
    def test_a_flipped_byte(self, name: str, store: PairStore, tmp_path: Path) -> None:
        """Of the same size, at ten places."""
        path = tmp_path / "store" / name
        whole = path.read_bytes()
        for place in range(0, len(whole), len(whole) // 10):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(HeedfulError, match=f"{name} is damaged: it is not as it was written") as caught:
                open_store(tmp_path / "store")
            assert "it is made from the corpus" in (caught.value.hint or "")

    def test_overwritten(self, store: PairStore, tmp_path: Path) -> None:
        path = tmp_path / "store" / "pairs.arrow"
        path.write_bytes(bytes(path.stat().st_size))
        with pytest.raises(HeedfulError, match="is damaged"):
            open_store(tmp_path / "store")

    def test_other_version(self, store: PairStore, tmp_path: Path) -> None:
        path = tmp_path / "store" / "store.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "format": 0}))
        (tmp_path / "store" / SUMS).unlink()
        with pytest.raises(HeedfulError, match="a store of another version"):
            open_store(tmp_path / "store")


def test_disk_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux has a device that is always full."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / "store").mkdir()
    corpus = pairs(5000)
    monkeypatch.setattr(Path, "open", lambda path, mode: open("/dev/full", mode))  # noqa: SIM115
    with pytest.raises(HeedfulError, match=r"The disk is full: .*pairs\.arrow") as caught:
        build_store(tmp_path / "store", corpus, TOKENIZERS, max_length=40)
    assert "Free some space" in (caught.value.hint or "")


def test_multi30k_is_built_in_seconds(shared_data: Path, tmp_path: Path) -> None:
    """29,000 pairs, with a bound that a slow machine under load keeps too."""
    import time

    from heedful.data.config import DataConfig
    from heedful.recipe.splits import load_split
    from heedful.text.config import SideConfig, TokenizerConfig
    from heedful.text.tokenizer import train_tokenizers

    data = DataConfig(catalogue="multi30k-en-de", folder=str(shared_data / "multi30k"))
    corpus = list(load_split(data, "train"))
    tokenizers = train_tokenizers(TokenizerConfig(source=SideConfig(algorithm="bpe")), corpus, seed=1)
    start = time.process_time()
    store = build_store(tmp_path, corpus, tokenizers, max_length=256)
    assert time.process_time() - start < 8
    assert len(store) == 29_000
    assert store.fingerprint == fingerprint(corpus).sha256
