"""Small models that read stories, and stories of ids for them: sentences that end in EOS, then a question."""

import torch

from heedful.data.batch import Batch, collate
from heedful.gallery.reading.config import MemoryConfig, ReaderConfig
from heedful.models.config import ModelConfig
from heedful.models.interface import EncoderOnly
from heedful.recipe.tables import build_model
from heedful.text.vocabulary import EOS

VOCABULARY = 14

STORIES: list[list[int]] = [
    [4, 5, 6, EOS, 7, 5, 8, EOS, 9, 5, 6, EOS, 10, 4],
    [11, 12, EOS, 10, 11],
    [10, 9],  # nothing is told
    [4, 5, EOS, EOS, 6, 7, 8, 9, EOS, 10, 4, 6],  # one sentence is empty
    [8, 7, EOS],  # nothing is asked
    [],
]

CONFIGS: dict[str, ModelConfig] = {
    "over": ReaderConfig(attention="over", d_model=6, d_hidden=8, dropout=0.0),
    "sum": ReaderConfig(attention="sum", d_model=6, d_hidden=8, dropout=0.0),
    "memory": MemoryConfig(d_model=6, max_memories=8),
    "no hops": MemoryConfig(d_model=6, n_hops=0, max_memories=8),
    "layer-wise": MemoryConfig(d_model=6, sharing="layer-wise", update="add-linear", max_memories=2),
    "key-value": MemoryConfig(d_model=6, n_hops=2, values="last-word", update="concat-linear", max_memories=9),
    "bag": MemoryConfig(d_model=6, n_hops=1, encoding="bag", temporal=False),
}


def stories(sources: list[list[int]], extra: int = 0, filler: int = 0) -> Batch:
    """The stories as one batch, with `extra` more places that hold `filler`."""
    batch = collate([(source, [5]) for source in sources], range(len(sources)))
    src = torch.nn.functional.pad(batch.src, (0, extra))
    mask = torch.nn.functional.pad(batch.src_mask, (0, extra))
    return batch._replace(src=src.masked_fill(~mask, filler), src_mask=mask)


def story_model(config: ModelConfig, seed: int = 0) -> EncoderOnly:
    """A model in double precision and eval mode, with larger weights than at its start."""
    torch.manual_seed(seed)
    model = build_model(config, VOCABULARY, VOCABULARY)
    assert isinstance(model, EncoderOnly)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return model.double().eval()


def logits(model: EncoderOnly, batch: Batch) -> torch.Tensor:
    """What it answers, [B V]."""
    answer = model.predict(batch.src, batch.src_mask)
    assert answer.mask.shape == (len(batch.src), 1)
    assert answer.mask.all()
    return answer.logits[:, 0]
