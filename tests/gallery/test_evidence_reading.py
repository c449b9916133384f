"""Evidence of what is read, against maps taken from the model itself and counted by hand."""

import pytest
import torch
from tests.gallery.maps import maps_of

from heedful.decoding.config import BeamSearch
from heedful.decoding.translator import Translator
from heedful.gallery.reading.config import MemoryConfig, ReaderConfig
from heedful.gallery.reading.evidence import keys_read, supporting_fact_hits
from heedful.models.config import ModelConfig
from heedful.models.transformer_config import TransformerConfig
from heedful.recipe.tables import build_model
from heedful.tasks.table import translator_of
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

STORIES = ["a b ||| c d d ||| e", "c a ||| a b e ||| d ||| b", "d e a ||| b b ||| c ||| a e"]
WORDS = SideConfig(kind="words", separator="|||")


def translator(config: ModelConfig) -> Translator:
    """An untrained model."""
    tokenizers = train_tokenizers(TokenizerConfig(joint=True, source=WORDS), [("a b c", "d e")], seed=1)
    torch.manual_seed(3)
    return translator_of(build_model(config, len(tokenizers.source), len(tokenizers.target)), tokenizers, BeamSearch())


def sentences_read(asked: Translator, source: str) -> list[int]:
    """The most read sentence of each reading: word by word, a part has its words and its end."""
    number_of = [number for number, part in enumerate(source.split(" ||| ")) for _ in [*part.split(), "end"]]
    return [number_of[int(found.weights[0, 0].argmax())] for found in maps_of(asked, source)]


def test_two_hops() -> None:
    """The second hop is right everywhere, the first nowhere but where both read the same sentence."""
    asked = translator(MemoryConfig(d_model=8, n_hops=2, temporal=False))
    read = [sentences_read(asked, source) for source in STORIES]
    same = sum(first == second for first, second in read)
    found = supporting_fact_hits(asked, [(source, [second]) for source, (_, second) in zip(STORIES, read, strict=True)])
    chance = 100 * (1 / 2 + 1 / 3 + 1 / 3) / 3
    hits = {"hop 1 hit@1": pytest.approx(100 * same / 3), "hop 2 hit@1": 100.0}
    assert found == {**hits, "facts found": 100.0, "chance": pytest.approx(chance)}


def test_facts_that_no_hop_finds() -> None:
    asked = translator(MemoryConfig(d_model=8, n_hops=1))
    facts = [(source, [0, 1]) for source in STORIES]
    read = [sentences_read(asked, source)[0] for source in STORIES]
    hits = sum(number < 2 for number in read)
    found = supporting_fact_hits(asked, facts)
    assert found["hop 1 hit@1"] == pytest.approx(100 * hits / 3)
    assert found["facts found"] == pytest.approx(100 * hits / 6)


def test_a_reader_of_words() -> None:
    asked = translator(ReaderConfig(attention="over", d_model=8, d_hidden=8))
    read = [sentences_read(asked, source)[0] for source in STORIES]
    facts = [(STORIES[0], [read[0]]), (STORIES[1], [read[1]]), (STORIES[2], [(read[2] + 1) % 3])]
    assert supporting_fact_hits(asked, facts)["hop 1 hit@1"] == pytest.approx(200 / 3)


@pytest.mark.parametrize("k", [1, 3, None])
def test_keys_read(k: int | None) -> None:
    """Of rows that see as many: exactly k, or all four of the longest encoder rows; never a part of them."""
    settings = {"d_model": 8, "n_heads": 2, "d_ff": 8, "n_encoder_layers": 1, "n_decoder_layers": 1}
    norms = {"norm": "pre", "activation": "relu", "attention_top_k": k}
    asked = translator(TransformerConfig.model_validate({**settings, **norms}))
    number = 5.0 if k is None else float(k)
    assert keys_read(asked, ["a b c d"]) == {"least": number, "most": number}


def test_nothing_to_measure() -> None:
    asked = translator(MemoryConfig(d_model=8, n_hops=0))
    with pytest.raises(ValueError, match="There is nothing to look at: name at least one source"):
        supporting_fact_hits(asked, [])
    with pytest.raises(ValueError, match="There is nothing to look at: name at least one source"):
        keys_read(asked, [])
    with pytest.raises(ValueError, match=r"This model reads no sentences: it has no map `reader\.0\.read`"):
        supporting_fact_hits(asked, [(STORIES[0], [0])])
