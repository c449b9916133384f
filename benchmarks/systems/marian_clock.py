"""Marian's C++ trainer and decoder from the package pymarian, for time_to_bleu.py: argv[1] is JSON.

"train" runs until it is told to end by SIGTERM, and saves; "translate" writes the outputs of a file.
"""

import json
import sys
from pathlib import Path

import pymarian

asked = json.loads(sys.argv[1])
options = " ".join(f"--{name} {value}" for name, value in asked["options"].items())
if asked["work"] == "train":
    pymarian.Trainer(options).train()
else:
    lines = Path(asked["lines"]).read_text("utf-8")
    texts = pymarian.Translator(options).translate(lines)
    Path(asked["texts"]).write_text(texts if texts.endswith("\n") else texts + "\n", "utf-8")
