"""Marian's C++ trainer from the package pymarian, on the sentences of the same batches; it cuts its own of their size.

Ids go in as words of a vocabulary of the same size, so segmentation is the same. Speed and losses come from its log.
"""

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pymarian
from clock import PAD, WARM, batches, peak_mb

sizes = json.loads(sys.argv[2])
imported_mb = peak_mb()
chosen = batches()[: sizes["updates"] + WARM]
words = int(np.mean([int((labels != PAD).sum()) for _, _, labels in chosen]))
DROPOUT, LAYERS = str(sizes["dropout"]), str(sizes["n_layers"])

with TemporaryDirectory() as scratch:
    folder = Path(scratch)
    for name, column in (("source", 0), ("target", 2)):
        rows = [[f"t{number}" for number in row if number > 3] for batch in chosen for row in batch[column].tolist()]
        (folder / name).write_text("".join(f"{' '.join(row)}\n" for row in rows))
    entries = ["</s>: 0", "<unk>: 1", *(f"t{number}: {number}" for number in range(2, sizes["vocabulary"]))]
    (folder / "vocabulary.yml").write_text("\n".join(entries) + "\n")
    options = {
        "type": "transformer",
        "model": folder / "model.npz",
        "train-sets": f"{folder / 'source'} {folder / 'target'}",
        "vocabs": f"{folder / 'vocabulary.yml'} {folder / 'vocabulary.yml'}",
        "cpu-threads": sizes[
            "threads"
        ],  # its matrix library is the sequential one: each thread takes a share of a batch
        "sync-sgd": "",
        "workspace": 2000,
        "dim-emb": sizes["d_model"],
        "transformer-dim-ffn": sizes["d_ff"],
        "transformer-heads": sizes["n_heads"],
        "enc-depth": LAYERS,
        "dec-depth": LAYERS,
        "transformer-dropout": DROPOUT,
        "transformer-ffn-activation": "relu",
        "tied-embeddings-all": "",
        "label-smoothing": sizes["smoothing"],
        "mini-batch": 10_000,
        "mini-batch-words": words,
        "learn-rate": sizes["peak_rate"],
        "lr-warmup": sizes["warmup"],
        "lr-decay-inv-sqrt": sizes["warmup"],
        "optimizer-params": "0.9 0.98 1e-9",
        "clip-norm": 0,  # it clips sums over the words of a batch, which are no means
        "disp-freq": 1,
        "after-batches": sizes["updates"] + WARM,
        "no-shuffle": "",
        "seed": sizes["seed"],
        "log": folder / "log",
        "quiet": "",
    }
    pymarian.Trainer(" ".join(f"--{name} {value}" for name, value in options.items())).train()
    log = (folder / "log").read_text()

steps = re.findall(r"Cost ([\d.]+) \* ([\d,]+) @ .*? : Time ([\d.]+)s", log)
costs, tokens, seconds = ([float(value.replace(",", "")) for value in column] for column in zip(*steps, strict=True))
found = {"tokens_per_second": sum(tokens[WARM:]) / sum(seconds[WARM:]), "seconds": sum(seconds[WARM:]), "losses": costs}
print(json.dumps({**found, "peak_mb": peak_mb(), "imported_mb": imported_mb}))
