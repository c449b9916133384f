"""Evidence of what a pooling reads, against maps taken from the model itself and counted by hand."""

from collections.abc import Mapping

import pytest
import torch
from tests.gallery.classifiers import classifier_config

from heedful.data.batch import collate
from heedful.decoding.config import BeamSearch
from heedful.decoding.translator import Translator
from heedful.gallery.pooling.evidence import glimpses, overlap_of_rows, planted_words
from heedful.models.interface import EncoderOnly
from heedful.models.recording import recorded_maps
from heedful.recipe.tables import build_model
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

TEXTS = ["a b c d e", "c ||| a e d", "e d a b"]


def translator(settings: Mapping[str, object]) -> Translator:
    """An untrained model."""
    sides = {"source": SideConfig(kind="words", separator="|||"), "target": SideConfig(kind="words")}
    tokenizers = train_tokenizers(TokenizerConfig(joint=False, **sides), [("a b c d e", "pos neg")], seed=1)
    torch.manual_seed(3)
    model = build_model(classifier_config(settings), len(tokenizers.source), len(tokenizers.target))
    return translator_of(model, tokenizers, BeamSearch())


def rows_of(asked: Translator, source: str) -> torch.Tensor:
    """Straight from the model: [R S]."""
    assert isinstance(asked.backend.model, EncoderOnly)
    batch = collate([(asked.tokenizers.source.encode(source), [])], [0])
    model = asked.backend.model.eval()
    with recorded_maps(model) as maps:
        model.predict(batch.src, batch.src_mask)
    return maps[-1].weights[:, 0]


def test_planted_words() -> None:
    """All words that are read are planted ones; then one of six is said to stand elsewhere, and one more is there."""
    asked = translator({"encoder": "rnn", "pooling": "keywords", "n_words": 2})
    read = [rows_of(asked, source)[0].nonzero().flatten().tolist() for source in TEXTS]
    assert all(len(places) == 2 for places in read)
    assert planted_words(asked, list(zip(TEXTS, read, strict=True))) == {"precision": 100, "recall": 100, "f1": 100}
    (elsewhere,) = {0, 2, 3, 4} - {*read[1], min({0, 2, 3, 4} - set(read[1]))}
    said = [read[0], [read[1][0], elsewhere], [0, 1, 2, 3]]
    found = planted_words(asked, list(zip(TEXTS, said, strict=True)))
    assert found == {
        "precision": pytest.approx(100 * 5 / 6),
        "recall": pytest.approx(100 * 5 / 8),
        "f1": pytest.approx(100 * 2 * 5 / 14),
    }


@pytest.mark.parametrize("pooling", ["hard", "attention"])
def test_glimpses(pooling: str) -> None:
    asked = translator({"encoder": "rnn", "pooling": pooling, "query": "first"})
    most = [int(rows_of(asked, source)[0].argmax()) for source in TEXTS]
    said = list(zip(TEXTS, [most[0], most[1], (most[2] + 1) % 4], strict=True))
    chance = 100 * (1 / 5 + 1 / 5 + 1 / 4) / 3
    assert glimpses(asked, said) == {"hit@1": pytest.approx(200 / 3), "chance": pytest.approx(chance)}


def test_overlap_of_rows() -> None:
    asked = translator({"encoder": "rnn", "pooling": "structured", "rows": 3})
    cosines = []
    for source in TEXTS:
        rows = rows_of(asked, source).double()
        unit = rows / rows.norm(dim=1, keepdim=True)
        cosines += [float((unit[i] * unit[j]).sum()) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert overlap_of_rows(asked, TEXTS) == {"overlap": pytest.approx(100 * sum(cosines) / 9, rel=1e-4)}
    with torch.no_grad():
        asked.backend.model.get_parameter("pooling.pool.queries")[1:] = asked.backend.model.get_parameter(
            "pooling.pool.queries"
        )[0]
    assert overlap_of_rows(asked, TEXTS) == {"overlap": pytest.approx(100, rel=1e-4)}
    with pytest.raises(ValueError, match="one row of weights, which overlaps with no other"):
        overlap_of_rows(translator({"encoder": "none", "pooling": "attention"}), TEXTS)


def test_nothing_to_measure() -> None:
    asked = translator({"encoder": "none", "pooling": "attention"})
    for measure, name in ((planted_words, "texts"), (glimpses, "texts"), (overlap_of_rows, "sources")):
        with pytest.raises(ValueError, match=f"`{name}` must not be empty"):
            measure(asked, [])
