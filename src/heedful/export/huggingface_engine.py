"""A folder in the format of Hugging Face, used by plain `transformers`: the other side of the comparison.

Knows nothing of how the folder came to be.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from heedful.decoding.backend import END
from heedful.decoding.config import BeamSearch
from heedful.decoding.search import length_penalty
from heedful.decoding.translation import Candidate, Token, Translation
from heedful.export.optional_packages import package

ROWS = 32  # lines that are translated at once


@final
class TransformersEngine:
    """Greedy search by `generate`; log-probabilities by a second pass over what it found.

    `piece` says what an id of the target stands for; left out, the folder's tokenizer does.
    """

    def __init__(self, folder: Path, search: BeamSearch, piece: Callable[[int], str] | None = None) -> None:
        library = transformers()
        self._tokenizer = library.AutoTokenizer.from_pretrained(folder)
        self._model = library.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
        self._piece = piece or self._tokenizer.convert_ids_to_tokens
        self._search = search

    @torch.inference_mode()
    def translate(self, lines: Sequence[str], *, n_best: int = 1) -> list[Translation]:
        """Translate each line. Raises ValueError for `n_best` over 1: greedy search finds one."""
        if n_best != 1:
            raise ValueError(f"`n_best` must be 1, for greedy search finds one output, but is {n_best}.")
        found = [Translation("", 0.0, [], [Candidate("", 0.0, 0.0, [])], [])] * len(lines)
        numbers = sorted((n for n, line in enumerate(lines) if line.strip()), key=lambda n: len(lines[n]))
        for start in range(0, len(numbers), ROWS):
            batch = numbers[start : start + ROWS]
            for number, translation in zip(batch, self._batch([lines[n] for n in batch]), strict=True):
                found[number] = translation
        return found

    def _batch(self, lines: Sequence[str]) -> list[Translation]:
        source = self._tokenizer(list(lines), padding=True, return_tensors="pt")
        readable = self._model.config.max_position_embeddings
        limits = [min(n - 1 + self._search.max_extra, readable - 1) for n in source["attention_mask"].sum(1).tolist()]
        begin_and_end = 2
        outputs = self._model.generate(**source, num_beams=1, do_sample=False, max_length=max(limits) + begin_and_end)
        end = self._model.config.eos_token_id
        ids = [_until(row[1:], end)[:limit] for row, limit in zip(outputs.tolist(), limits, strict=True)]
        return [self._translation(*pair) for pair in zip(ids, self._log_p(source, ids), strict=True)]

    def _log_p(self, source: Any, outputs: Sequence[list[int]]) -> list[list[float]]:
        """Compute the log-probability of each token of each output, and of its end."""
        config = self._model.config
        width = max(map(len, outputs)) + 1
        begun = [[config.decoder_start_token_id, *ids] for ids in outputs]
        ended = [[*ids, config.eos_token_id] for ids in outputs]
        logits = self._model(**source, decoder_input_ids=_filled(begun, width, config.pad_token_id)).logits
        labels = _filled(ended, width, config.pad_token_id)
        log_p = logits.float().log_softmax(dim=-1).gather(2, labels[:, :, None])[:, :, 0].tolist()
        return [row[: len(ids)] for row, ids in zip(log_p, ended, strict=True)]

    def _translation(self, ids: list[int], token_log_p: list[float]) -> Translation:
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        pieces = [*map(self._piece, ids), END]
        tokens = [Token(piece, log_p) for piece, log_p in zip(pieces, token_log_p, strict=True)]
        log_p = sum(token_log_p)
        score = log_p / float(length_penalty(len(tokens), self._search.length_penalty))
        return Translation(text, score, tokens, [Candidate(text, score, log_p, tokens)], [])


def transformers() -> Any:
    """Import the package, without its progress bars."""
    library: Any = package("transformers")
    library.utils.logging.disable_progress_bar()
    return library


def _until(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids


def _filled(rows: Sequence[list[int]], width: int, pad: int) -> Tensor:
    return torch.tensor([row + [pad] * (width - len(row)) for row in rows])
