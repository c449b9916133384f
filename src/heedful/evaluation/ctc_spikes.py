"""Whether a model of CTC says its symbols in spikes between blanks. [Graves 2006, Figure 1]

Knows no task and no file.
"""

from collections.abc import Sequence
from itertools import groupby

import torch

from heedful.data.batch import collate
from heedful.decoding.ctc import path_log_p
from heedful.decoding.label_backend import CTCBackend
from heedful.decoding.translator import Translator
from heedful.models.device import device_of
from heedful.text.vocabulary import PAD


@torch.inference_mode()
def blank_spikes(translator: Translator, sources: Sequence[str]) -> dict[str, float]:
    """Measure the best paths: the per cent of positions that are "blank", and how many "places a symbol" lasts on
    average.

    Raises ValueError where there are no sources, or where the model says nothing at places of its own.
    """
    backend = translator.backend
    if not sources or not isinstance(backend, CTCBackend):
        raise ValueError("`sources` must hold some, for a model that aligns symbols and positions itself.")
    model = backend.model.eval()
    blanks = places = spikes = 0
    for source in sources:
        batch = collate([(translator.tokenizers.source.encode(source), [])], [0]).to(device_of(model))
        (log_p,) = path_log_p(model.predict(batch.src, batch.src_mask))
        path = log_p.argmax(dim=1).tolist()
        places += len(path)
        blanks += path.count(PAD)
        spikes += sum(index != PAD for index, _ in groupby(path))
    return {"blank": 100 * blanks / max(places, 1), "places a symbol": (places - blanks) / max(spikes, 1)}
