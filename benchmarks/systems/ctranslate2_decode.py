"""CTranslate2's own `translate_batch` on the model that `heedful export --to ctranslate2` wrote."""

import json
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
from decode_clock import EOS, EXTRA, asked, report, tokenizers_of

found = asked()
folder = Path(found.export)
tokenizers = tokenizers_of(found)
shared = folder / "shared_vocabulary.json"
source_tokens, target_tokens = (
    json.loads((shared if shared.exists() else folder / f"{side}_vocabulary.json").read_text("utf-8"))
    for side in ("source", "target")
)
number_of = {token: number for number, token in enumerate(target_tokens)}
engine = ctranslate2.Translator(
    found.export, device="cpu", intra_threads=found.threads, inter_threads=1, compute_type=found.options["type"]
)


def translate(lines: Sequence[str]) -> list[str]:
    tokens = [[source_tokens[number] for number in tokenizers.source.encode(line)] for line in lines]
    results = engine.translate_batch(
        tokens,
        beam_size=found.beam,
        length_penalty=0.0,
        max_batch_size=64,
        max_decoding_length=max(map(len, tokens)) + EXTRA,
    )
    ids = ([number_of[token] for token in result.hypotheses[0]] for result in results)
    return [tokenizers.target.decode([number for number in numbers if number != EOS]) for numbers in ids]


report(found, translate)
