"""Heedful's own search, or one of its engines: what `heedful.load` or an export's folder gives."""

from collections.abc import Sequence
from pathlib import Path

import torch
from decode_clock import asked, report

import heedful

found = asked()
torch.set_num_threads(found.threads)
search = {"beam": found.beam, "length_penalty": 0.0, **found.options}
translator = heedful.load(Path(found.bundle)).with_search(search)


def translate(lines: Sequence[str]) -> list[str]:
    return [translation.text for translation in translator.translate(lines)]


report(found, translate)
