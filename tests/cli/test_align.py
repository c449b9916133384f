"""`heedful align` on a model whose cross-attention is set by hand, so that every link is known."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import cast, final

import pytest
import torch

from heedful.decoding.backend import Backend, Ids, Pair
from heedful.decoding.config import BeamSearch, SearchConfig
from heedful.decoding.search import Hypothesis, Request
from heedful.decoding.translator import Translator
from heedful.errors import HeedfulError
from heedful.models.interface import Seq2Seq
from heedful.text.config import SideConfig
from heedful.text.tokenizer import Tokenizers, train_tokenizer
from heedful.trace import Map, Trace

LINES = ["the cats sat on the mats", "the dogs sat on cats", "mats and dogs and cats"]


@final
class Mirror(Backend):
    """Reads, for target piece t, source piece n - 1 - t in head 0 of layer 0; head 1 and layer 1 read the end."""

    longest = None

    def __init__(self) -> None:
        self.search = BeamSearch()

    def with_search(self, search: SearchConfig) -> "Mirror":
        raise NotImplementedError

    def hypotheses(self, sources: Sequence[Ids], requests: Sequence[Request], n_best: int) -> list[list[Hypothesis]]:
        raise NotImplementedError

    def log_p(self, pairs: Sequence[Pair]) -> list[list[float]]:
        raise NotImplementedError

    def decoder(self, what: str) -> Seq2Seq:
        return cast(Seq2Seq, None)  # there is one

    def trace(self, pair: Pair, source: Sequence[str], target: Sequence[str]) -> Trace:
        weights = torch.zeros(2, len(target) + 1, len(source) + 1)
        weights[1, :, -1] = 1
        for t in range(len(target)):
            weights[0, t, max(0, len(source) - 1 - t)] = 1
        weights[0, -1, -1] = 1
        mask = torch.ones(1, *weights.shape[1:], dtype=torch.bool)
        away = torch.zeros_like(weights)
        away[:, :, -1] = 1
        maps = [Map("decoder.0.cross", weights, mask), Map("decoder.1.cross", away, mask)]
        return Trace([*source, "</s>"], ["<s>", *target], [*target, "</s>"], [0.0] * (len(target) + 1), maps)


def serve(monkeypatch: pytest.MonkeyPatch, kind: str) -> Translator:
    """Let `heedful.pipeline.load.load` return a mirror over tokenisers of this kind."""
    config = SideConfig(kind=kind, vocab_size=19)  # pyright: ignore[reportArgumentType]
    tokenizer = train_tokenizer(config, LINES, seed=1)
    mirror = Translator(Mirror(), Tokenizers(tokenizer, tokenizer))
    module = ModuleType("heedful.pipeline.load")
    module.load = lambda path: mirror  # pyright: ignore[reportAttributeAccessIssue]
    module.remark_on = lambda path: None  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "heedful.pipeline.load", module)
    return mirror


@pytest.fixture
def pairs(tmp_path: Path) -> list[str]:
    """Two aligned files: three words, an empty source, one word."""
    (tmp_path / "src").write_text("the cats sat\n\ndogs\n")
    (tmp_path / "tgt").write_text("sat cats the\ndogs\ndogs\n")
    return [str(tmp_path / "src"), str(tmp_path / "tgt")]


def test_one_line_a_pair_source_first(heedful, monkeypatch: pytest.MonkeyPatch, pairs: list[str]) -> None:
    serve(monkeypatch, "words")
    done = heedful("align", "model", *pairs, "--layer", "0", "--head", "0")
    assert (done.code, done.out) == (0, "2-0 1-1 0-2\n\n0-0\n")


def test_subwords_become_words_unless_pieces_are_wanted(
    heedful, monkeypatch: pytest.MonkeyPatch, pairs: list[str]
) -> None:
    mirror = serve(monkeypatch, "sentencepiece")
    n_pieces = len(mirror.tokenizers.source.pieces("the cats sat"))
    assert n_pieces > 3
    arguments = ["align", "model", *pairs, "--layer", "0", "--head", "0"]
    words = heedful(*arguments).out.split("\n")[0].split()
    pieces = heedful(*arguments, "--pieces").out.split("\n")[0].split()
    assert [link.split("-")[1] for link in words] == ["0", "1", "2"]
    assert {int(link.split("-")[0]) for link in words} <= {0, 1, 2}
    assert pieces == [f"{n_pieces - 1 - t}-{t}" for t in range(n_pieces)]


def test_json_names_the_units(heedful, monkeypatch: pytest.MonkeyPatch, pairs: list[str]) -> None:
    serve(monkeypatch, "words")
    out = heedful("align", "model", *pairs, "--layer", "0", "--head", "0", "--json").out
    assert json.loads(out.split("\n")[0]) == {
        "source": ["the", "cats", "sat"],
        "target": ["sat", "cats", "the"],
        "links": [[2, 0], [1, 1], [0, 2]],
    }


def test_a_threshold_keeps_only_strong_links(heedful, monkeypatch: pytest.MonkeyPatch, pairs: list[str]) -> None:
    serve(monkeypatch, "words")
    arguments = ["align", "model", *pairs, "--layer", "0", "--threshold"]
    assert heedful(*arguments, "0.5").out == "2-0 1-1 0-2\n\n0-0\n"
    assert heedful(*arguments, "0.51").out == "\n\n\n"


def test_gold_ranks_the_heads(heedful, monkeypatch: pytest.MonkeyPatch, pairs: list[str], tmp_path: Path) -> None:
    serve(monkeypatch, "words")
    (tmp_path / "gold").write_text("3-1 2-2 1-3\n\n1-1\n")
    arguments = ["align", "model", *pairs, "--gold", str(tmp_path / "gold"), "--first", "1"]
    rows = [json.loads(line) for line in heedful(*arguments, "--json").out.splitlines()]
    assert len(rows) == 2 * 3 * 2  # layers, heads and their mean, shifts
    assert rows[0] == {
        "layer": 0, "head": 0, "shift": 0, "aer": 0.0, "precision": 1.0, "recall": 1.0, "links": 4, "sure": 4,
    }  # fmt: skip
    assert rows[-1]["aer"] == 1.0
    table = heedful(*arguments).out.splitlines()
    assert table[0].split() == ["layer", "head", "shift", "aer", "precision", "recall", "links", "sure"]
    assert table[1].split() == ["0", "0", "0", "0.0000", "1.0000", "1.0000", "4", "4"]


def test_the_last_layer_of_a_shallow_model_is_usual(heedful, monkeypatch: pytest.MonkeyPatch, pairs: list[str]) -> None:
    serve(monkeypatch, "words")
    assert heedful("align", "model", *pairs).out == "\n\n\n"  # it reads nothing but the end
    assert heedful("align", "model", *pairs, "--layer", "0").out == "2-0 1-1 0-2\n\n0-0\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--layer", "2"], 2, "`--layer` must be 0 to 1, but is 2."),
        (["--head", "2"], 2, "`--head` must be 0 to 1 or mean, but is 2."),
        (["--head", "best"], 2, "`--head` must be a number from 0 or mean, but is best."),
        (["--gold", "short"], 1, "short has 1 lines, but there are 3 pairs."),
        (["--gold", "wrong"], 1, "wrong:2: `1:1` is no alignment link counted from 0."),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    heedful,
    monkeypatch: pytest.MonkeyPatch,
    pairs: list[str],
    tmp_path: Path,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    serve(monkeypatch, "words")
    monkeypatch.chdir(tmp_path)
    Path("short").write_text("0-0\n")
    Path("wrong").write_text("0-0\n1:1\n0-0\n")
    done = heedful("align", "model", *pairs, *arguments)
    assert done.code == code
    assert done.err.splitlines()[0] == f"error: {message}"


def test_files_are_checked_before_the_model_is_loaded(
    heedful, monkeypatch: pytest.MonkeyPatch, pairs: list[str]
) -> None:
    def load(path: Path) -> None:
        raise HeedfulError("the model was loaded")

    module = ModuleType("heedful.pipeline.load")
    module.load = load  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "heedful.pipeline.load", module)
    Path(pairs[1]).write_text("one line only\n")
    done = heedful("align", "model", *pairs)
    assert done.code == 1
    assert "the model was loaded" not in done.err
