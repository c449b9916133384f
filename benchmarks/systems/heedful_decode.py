"""Heedful's own search, or, where an export is named, the engine that reads it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from decode_clock import asked, report

import heedful

found = asked()
torch.set_num_threads(found.threads)
search = {"beam": found.beam, "length_penalty": 0.0, **found.options}
if found.export:
    from heedful.export.targets import open_export, read_export

    engine: Any = open_export(Path(found.export))
    if read_export(Path(found.export)).target == "ctranslate2":
        engine = engine.without_tokens()  # the other decoders give none either
else:
    engine = heedful.load(Path(found.bundle))
translator = engine.with_search(search)


def translate(lines: Sequence[str]) -> list[str]:
    return [translation.text for translation in translator.translate(lines)]


report(found, translate)
