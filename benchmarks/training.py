"""Training speed side by side: the same batches, sizes, dropout, smoothing and optimiser for every system.

3+3 layers, d_model 256, d_ff 1024, 4 heads, joint vocabulary of 8,000, batches of 4,096 tokens, Multi30k en-de.
Systems run as processes of their own, in turn, round after round; the ratio of a system is taken within each round.

    python benchmarks/training.py --data PATH/multi30k [--rounds 3] [--updates 12] [--json FILE]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from heedful.data.batch import BatchPlan, load_batch
from heedful.data.catalogue import load_split
from heedful.data.config import DataConfig
from heedful.data.store import build_store
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.tokenizer import train_tokenizers

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers"
SETTINGS = {"d_model": 256, "d_ff": 1024, "n_heads": 4, "n_layers": 3, "dropout": 0.1, "smoothing": 0.1}
VOCABULARY, MAX_TOKENS = 8000, 4096
SYSTEMS = ("heedful-float32", "heedful-bfloat16", "torch-nn-transformer", "huggingface-marian")


def main() -> None:
    arguments = parse()
    with tempfile.TemporaryDirectory() as scratch:
        batches = write_batches(arguments.data, Path(scratch), arguments.updates)
        rounds = [
            {name: measure(name, batches, arguments.threads) for name in arguments.systems}
            for _ in range(arguments.rounds)
        ]
    print_table(rounds)
    if arguments.json:
        arguments.json.write_text(json.dumps({"settings": SETTINGS, "tokens_per_second": rounds}, indent=1) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="a folder with raw/train.en.gz and raw/train.de.gz")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=12, help="timed updates a round, after two that are not")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    return parser.parse_args()


def write_batches(data: str, folder: Path, updates: int) -> Path:
    """The first batches of a real epoch, as one .npz file that every system reads."""
    config = DataConfig(catalogue="multi30k-en-de", folder=data)
    side = SideConfig(algorithm="bpe", vocab_size=VOCABULARY)
    tokenizers = train_tokenizers(TokenizerConfig(source=side), load_split(config, "train"), seed=1)
    store = build_store(folder / "store", load_split(config, "train"), tokenizers, max_length=256)
    plan = BatchPlan(store.source_lengths, store.target_lengths, MAX_TOKENS, seed=1)
    arrays: dict[str, np.ndarray] = {}
    for number in range(updates + 2):
        batch = load_batch(store, plan.batch(number))
        for name in ("src", "tgt_in", "tgt_out"):
            arrays[f"{name}{number}"] = getattr(batch, name).numpy()
    path = folder / "batches.npz"
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
    return path


def measure(system: str, batches: Path, threads: int) -> float:
    """Target tokens a second of one system, in a process of its own."""
    program, *options = {
        "heedful-float32": ("heedful_loop.py", "float32"),
        "heedful-bfloat16": ("heedful_loop.py", "bfloat16"),
        "torch-nn-transformer": ("torch_loop.py",),
        "huggingface-marian": ("marian_loop.py",),
    }[system]
    python = peer_python() if program == "marian_loop.py" else sys.executable
    facts = json.dumps({**SETTINGS, "vocabulary": VOCABULARY, "threads": threads})
    command = [python, str(HERE / "systems" / program), str(batches), facts, *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])["target_tokens_per_second"]


def peer_python() -> str:
    """The interpreter of an environment that has the peers; it sees this one's torch, so that both run the same."""
    if not PEERS.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
        torch = subprocess.run(
            [sys.executable, "-c", "import torch, pathlib; print(pathlib.Path(torch.__file__).parent.parent)"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        site = next(PEERS.glob("lib/python*/site-packages"))
        (site / "same_torch.pth").write_text(torch + "\n")
        subprocess.run([str(PEERS / "bin" / "python"), "-m", "pip", "install", "-q", "transformers"], check=True)
    return str(PEERS / "bin" / "python")


def print_table(rounds: list[dict[str, float]]) -> None:
    """Target tokens a second, and the ratio to the first system within each round."""
    first = next(iter(rounds[0]))
    print(f"{'system':24}{'tokens/s min':>14}{'median':>10}{'max':>10}   {first} / system: min median max")
    for name in rounds[0]:
        speeds = [one[name] for one in rounds]
        ratios = [one[first] / one[name] for one in rounds]
        low, middle, high = min(speeds), statistics.median(speeds), max(speeds)
        shown = f"{min(ratios):.2f} {statistics.median(ratios):.2f} {max(ratios):.2f}"
        print(f"{name:24}{low:14,.0f}{middle:10,.0f}{high:10,.0f}   {shown}")


if __name__ == "__main__":
    main()
