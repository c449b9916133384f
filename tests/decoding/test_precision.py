"""The laws of search in every precision, on a model that has learned something, and against one without a cache."""

import pytest
import torch
from tests.decoding.reversal import TOKENIZERS, lines, model, reverser

from heedful.data.batch import collate
from heedful.decoding.beam import beam_search
from heedful.decoding.greedy import greedy_search
from heedful.decoding.search import Request
from heedful.layers.inference_linear import Precision
from heedful.models.inference import SearchableModel, searchable
from heedful.models.interface import Seq2Seq, State
from heedful.text.vocabulary import BOS, EOS, PAD

EVERY_PRECISION = pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
EVERY_BEAM = pytest.mark.parametrize("beam", [1, 4])
SOURCES = [*lines(-1, 14), "a", "", "h g f e d c b a " * 5, "b"]


def texts(precision: Precision, beam: int, sources: list[str], **changes: object) -> list[str]:
    made = reverser({"precision": precision, "beam": beam, **changes})
    return [found.text for found in made.translate(sources)]


def test_it_has_learned() -> None:
    unseen = lines(-2, 100)
    right = sum(found == line[::-1] for found, line in zip(texts("float32", 4, unseen), unseen, strict=True))
    assert right >= 80


@EVERY_BEAM
@EVERY_PRECISION
class TestLaws:
    def test_a_line_does_not_depend_on_its_batch(self, precision: Precision, beam: int) -> None:
        together = texts(precision, beam, SOURCES)
        assert texts(precision, beam, SOURCES[::-1])[::-1] == together
        assert texts(precision, beam, SOURCES, max_tokens=60) == together
        assert [texts(precision, beam, [line])[0] for line in SOURCES] == together

    def test_log_probabilities_are_those_of_the_whole(self, precision: Precision, beam: int) -> None:
        """What was found step by step, decoded at once by the model of the same precision."""
        ready = searchable(model(), precision)
        for source, found in zip(
            SOURCES, reverser({"precision": precision, "beam": beam}).translate(SOURCES), strict=True
        ):
            if source.strip():
                target = TOKENIZERS.target.encode(found.text)
                with torch.inference_mode():
                    whole = sum(log_p_of_each(ready, source, target))
                assert found.n_best[0].log_p == pytest.approx(whole, abs=0.05 if precision == "bfloat16" else 1e-3)


@EVERY_PRECISION
def test_one_beam_is_greedy(precision: Precision) -> None:
    ready = searchable(model(), precision)
    pairs = [(TOKENIZERS.source.encode(line), list[int]()) for line in SOURCES if line]
    batch = collate(pairs, range(len(pairs)))
    requests = [Request(len(source) + 5) for source, _ in pairs]

    def step(state: State, tokens: torch.Tensor) -> tuple[torch.Tensor, State]:
        hidden, after = ready.model.step(state, tokens)
        return ready.readout(hidden), after

    with torch.inference_mode():
        memory = ready.model.encode(batch.src, batch.src_mask)
        greedy = greedy_search(step, ready.model.start(memory, 1), requests, 0.6)
        beam = beam_search(step, ready.model.start(memory, 1), requests, beam=1, alpha=0.6)
    for [left], [right] in zip(greedy, beam, strict=True):
        assert left.ids == right.ids
        assert left.score == pytest.approx(right.score, abs=1e-5)


def log_p_of_each(ready: SearchableModel, source: str, target: list[int]) -> list[float]:
    batch = collate([(TOKENIZERS.source.encode(source), target)], [0])
    hidden = ready.model(batch.src, batch.src_mask, batch.tgt_in)
    log_p = ready.readout(hidden).float().log_softmax(-1)
    return log_p.gather(2, batch.tgt_out[:, :, None])[0, :, 0].tolist()


@torch.inference_mode()
def plain_search(ready: Seq2Seq, source: str, beam: int, alpha: float, max_extra: int) -> list[int]:
    """Beam search for one sentence with lists, decoding every output anew from its beginning: no cache, no batch."""
    batch = collate([(TOKENIZERS.source.encode(source), [])], [0])
    memory = ready.encode(batch.src, batch.src_mask)
    longest = len(TOKENIZERS.source.encode(source)) + max_extra
    unfinished: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[tuple[float, list[int]]] = []
    while unfinished:
        longer = []
        for total, ids in unfinished:
            hidden = ready.decode(memory, torch.tensor([[BOS, *ids]]))[:, -1]
            row = ready.logits(hidden).double().log_softmax(-1)[0].tolist()
            allowed = [EOS] if len(ids) == longest else [i for i in range(len(row)) if i not in (PAD, BOS)]
            longer += [(total + row[i], [*ids, i]) for i in allowed]
        kept = sorted(longer, key=lambda one: -one[0])[: beam - len(ended)]
        ended += [(total / ((5 + len(ids)) / 6) ** alpha, ids[:-1]) for total, ids in kept if ids[-1] == EOS]
        unfinished = [one for one in kept if one[1][-1] != EOS]
    return max(ended, key=lambda one: one[0])[1]


@pytest.mark.parametrize("beam", [1, 2, 5, 30])
def test_equal_to_a_beam_without_a_cache(beam: int) -> None:
    """30 beams are more than there are symbols."""
    sources = [*lines(-3, 2 if beam == 30 else 6), "a", "c d " * 8]
    found = texts("float32", beam, sources, max_extra=6)
    plain = [TOKENIZERS.target.decode(plain_search(model(), line, beam, 0.6, 6)) for line in sources]
    assert found == plain
