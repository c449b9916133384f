"""Attention maps straight from an encoder-only model, without what evidence makes of them."""

from heedful.attention import Map
from heedful.data.batch import collate
from heedful.decoding.label_backend import EncoderOnlyBackend
from heedful.decoding.translator import Translator
from heedful.models.recording import recorded_maps


def maps_of(asked: Translator, source: str) -> list[Map]:
    """The maps of one source, in the order of the model."""
    assert isinstance(asked.backend, EncoderOnlyBackend)
    batch, model = collate([(asked.tokenizers.source.encode(source), [])], [0]), asked.backend.model.eval()
    with recorded_maps(model) as maps:
        model.predict(batch.src, batch.src_mask)
    return maps
