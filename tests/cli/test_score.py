"""`heedful score`: log-probabilities that are those of the search, of a distribution, and of each line alone."""

import io
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.pipeline.little import untrained_bundle

from heedful.data.batch import collate
from heedful.pipeline.load import load
from heedful.text.vocabulary import BOS, PAD, UNK

PAIRS = [("ab", "ba"), ("c", "c")]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_bundle(tmp_path_factory.mktemp("random") / "model", PAIRS)


@pytest.fixture
def score(bundle: Path, tmp_path: Path, heedful: Callable) -> Callable:
    """Score lines with lines; the outcome."""

    def run(sources: list[str], targets: list[str], *options: str) -> object:
        for name, lines in (("sources", sources), ("targets", targets)):
            (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return heedful("score", str(bundle), str(tmp_path / "sources"), str(tmp_path / "targets"), *options)

    return run


def test_agrees_with_the_search(bundle: Path, score: Callable) -> None:
    """What search says of its outputs, forced decoding says too."""
    lines = ["ab", "c", "cab"]
    found = load(bundle).translate(lines)
    outcome = score(lines, [one.text for one in found])
    assert outcome.code == 0, outcome.err
    for line, one in zip(outcome.out.splitlines(), found, strict=True):
        assert float(line) == pytest.approx(one.n_best[0].log_p, abs=1e-4)


def test_first_tokens_are_a_distribution(bundle: Path, score: Callable) -> None:
    """The symbols and the end have the probability that one step of the model does not give to PAD, UNK and BOS."""
    outcome = score(["ab"] * 4, ["", "a", "b", "c"], "--json")
    first = [json.loads(line)["tokens"][0][1] for line in outcome.out.splitlines()]
    translator = load(bundle)
    model, batch = translator.backend.model, collate([(translator.tokenizers.source.encode("ab"), [])], [0])
    with torch.inference_mode():
        hidden, _ = model.step(model.start(model.encode(batch.src, batch.src_mask), 1), torch.tensor([BOS]))
        others = model.logits(hidden).softmax(dim=-1)[0, [PAD, UNK, BOS]].sum()
    assert sum(map(math.exp, first)) + float(others) == pytest.approx(1, abs=1e-5)


def test_json_tokens_add_up(score: Callable) -> None:
    outcome = score(["ab", "c"], ["ba", ""], "--json")
    for line, pieces in zip(outcome.out.splitlines(), (["b", "a", "</s>"], ["</s>"]), strict=True):
        facts = json.loads(line)
        assert [piece for piece, _ in facts["tokens"]] == pieces
        assert sum(log_p for _, log_p in facts["tokens"]) == pytest.approx(facts["log_p"], abs=1e-5)


def test_a_line_does_not_depend_on_the_others(score: Callable) -> None:
    together = score(["ab", "c", "abcab"], ["ba", "c", "bacba"]).out.splitlines()
    alone = [score([s], [t]).out.strip() for s, t in (("ab", "ba"), ("c", "c"), ("abcab", "bacba"))]
    assert [float(value) for value in together] == pytest.approx([float(value) for value in alone], abs=1e-4)


def test_different_numbers_of_lines(score: Callable, tmp_path: Path) -> None:
    outcome = score(["ab", "c"], ["ba"])
    assert (outcome.code, outcome.out) == (1, "")
    assert f"{tmp_path}/sources has 2 lines, but {tmp_path}/targets has 1." in outcome.err
    assert "hint: " in outcome.err


def test_source_from_standard_input(
    bundle: Path, tmp_path: Path, heedful: Callable, monkeypatch: pytest.MonkeyPatch, score: Callable
) -> None:
    wanted = score(["ab"], ["ba"]).out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ab\n")))
    assert heedful("score", str(bundle), "-", str(tmp_path / "targets")) == (0, wanted, "")


def test_longer_than_the_positions(tmp_path: Path, heedful: Callable) -> None:
    folder = untrained_bundle(tmp_path / "model", PAIRS, "model.positions=learned", "model.max_positions=5")
    (tmp_path / "text").write_text("ab\nabcab\n")
    outcome = heedful("score", str(folder), str(tmp_path / "text"), str(tmp_path / "text"))
    assert (outcome.code, outcome.out) == (1, "")
    assert "Pair 2 has 6 tokens, but this model reads 5." in outcome.err
    assert "hint: Shorten it, or train with a larger model.max_positions." in outcome.err
