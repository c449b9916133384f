"""Evidence of where attention lies, against maps taken from the model itself and counted by hand."""

import pytest
import torch
from tests.gallery.maps import maps_of

from heedful.decoding.config import BeamSearch
from heedful.decoding.translator import Translator
from heedful.gallery.coupled.config import CoupledConfig
from heedful.gallery.esim.config import InferenceConfig
from heedful.gallery.hierarchical.config import HierarchicalConfig
from heedful.gallery.hierarchical.evidence import aligned_words, decisive_sentence_hits, overlap_of_heads
from heedful.models.config import ModelConfig
from heedful.recipe.tables import build_model
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

DOCUMENTS = ["a b ||| c d d ||| e", "c ||| a a b e", "d e a ||| b ||| c ||| a e"]
PAIRS = ["a b c ||| d a", "e d ||| c b a"]


def translator(config: ModelConfig) -> Translator:
    """An untrained model."""
    sides = {"source": SideConfig(kind="words", separator="|||"), "target": SideConfig(kind="words")}
    tokenizers = train_tokenizers(TokenizerConfig(joint=False, **sides), [("a b c d e", "pos neg")], seed=1)
    torch.manual_seed(3)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    return translator_of(model, tokenizers, BeamSearch())


@pytest.mark.parametrize("reading", ["hierarchical", "flat-attention"])
def test_decisive_sentences(reading: str) -> None:
    """Of three documents, one is said to be decided in another sentence than the one that is read most."""
    asked = translator(HierarchicalConfig.model_validate({"reading": reading, "d_model": 8, "d_hidden": 8}))
    most_read = []
    for source in DOCUMENTS:
        weights = maps_of(asked, source)[-1].weights[0, 0]
        sentences, start = [], 0
        for sentence in source.split(" ||| "):
            end = start + len(sentence.split()) + 1
            sentences.append(float(weights[start:end].sum()))
            start = end
        most_read.append(sentences.index(max(sentences)))
    said = [(DOCUMENTS[0], most_read[0]), (DOCUMENTS[1], 1 - most_read[1]), (DOCUMENTS[2], most_read[2])]
    found = decisive_sentence_hits(asked, said)
    assert found == {"hit@1": pytest.approx(200 / 3), "chance": pytest.approx(100 * (1 / 3 + 1 / 2 + 1 / 4) / 3)}


def test_aligned_words() -> None:
    asked = translator(InferenceConfig(d_model=8, d_hidden=8))
    most_read = [maps_of(asked, source)[0].weights[0].argmax(dim=1).tolist() for source in PAIRS]
    right = [[(most_read[0][place], place) for place in (4, 5)], [(most_read[1][place], place) for place in (3, 4, 5)]]
    assert aligned_words(asked, list(zip(PAIRS, right, strict=True))) == {"accuracy": 100.0}
    wrong = [(1 - most_read[1][3], 3), *right[1][1:]]
    assert aligned_words(asked, [(PAIRS[0], right[0]), (PAIRS[1], wrong)]) == {"accuracy": pytest.approx(80.0)}


def test_overlap_of_heads() -> None:
    """Two heads with the same numbers read alike; others do not."""
    asked = translator(CoupledConfig(d_model=8, d_hidden=8, n_forms=2))
    sources = ["a b c", "d e a b"]
    cosines = []
    for source in sources:
        for found in maps_of(asked, source):
            a, p = found.weights[:, 0].double()
            cosines.append(float(a @ p / (a.norm() * p.norm())))
    assert overlap_of_heads(asked, sources)["overlap"] == pytest.approx(100 * (sum(cosines[:2]) + sum(cosines[2:])) / 4)
    with torch.no_grad():
        for name, parameter in asked.backend.model.named_parameters():
            if name in ("prototypes", "carry", "score.own", "score.other", "score.weight"):
                parameter[1] = parameter[0]
        first, second = (
            asked.backend.model.get_submodule("score.read.0"),
            asked.backend.model.get_submodule("score.read.1"),
        )
        second.load_state_dict(first.state_dict())
    assert overlap_of_heads(asked, sources)["overlap"] == pytest.approx(100)
    other = translator(HierarchicalConfig.model_validate({"reading": "flat-attention", "d_model": 8, "d_hidden": 8}))
    with pytest.raises(ValueError, match="This model has no two heads that read its sources"):
        overlap_of_heads(other, sources)


def test_nothing_to_measure() -> None:
    asked = translator(InferenceConfig(d_model=8, d_hidden=8))
    with pytest.raises(ValueError, match="`documents` must not be empty"):
        decisive_sentence_hits(asked, [])
    with pytest.raises(ValueError, match="`pairs` must not be empty"):
        aligned_words(asked, [])
    with pytest.raises(ValueError, match="`sources` must not be empty"):
        overlap_of_heads(asked, [])
