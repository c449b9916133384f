"""Translate with an ONNX export where there is neither heedful nor torch: numpy, onnxruntime and sentencepiece do.

    heedful export runs/mine exported --to onnx
    python examples/onnx_runner.py exported sentences.txt --beam 5

A line at a time, to stay short: greedy search, or a beam search that gives the same texts as `heedful translate` (which
also cuts very long lines at sentence ends). The step graph takes many sentences at once too: K rows for each, in the
order of the memories.
"""

import argparse
import json
import re
import sys
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime

Arrays = dict[str, np.ndarray]


class Model:
    """The two graphs: `encode` reads a source, `step` consumes a token a row."""

    def __init__(self, folder: Path) -> None:
        self.encoder = onnxruntime.InferenceSession(folder / "encoder.onnx")
        self.stepper = onnxruntime.InferenceSession(folder / "step.onnx")
        facts = self.stepper.get_modelmeta().custom_metadata_map
        ids = json.loads(facts["ids"])
        self.bos, self.eos = ids["bos"], ids["eos"]
        self.never = [ids["pad"], ids["bos"]]  # what no output may hold
        self.longest = int(facts["longest"]) if "longest" in facts else None  # of models with learned positions

    def encode(self, ids: list[int]) -> Arrays:
        """What every step reads: keys and values of each layer, and which source tokens are real (here all are)."""
        src = np.array([[*ids, self.eos]])
        mask = np.ones(src.shape, dtype=bool)
        names = [port.name for port in self.encoder.get_outputs()]
        found = dict(zip(names, self.encoder.run(names, {"src": src, "src_mask": mask}), strict=True))
        del found["memory"]
        return {**found, "memory_mask": mask}

    def nothing(self) -> Arrays:
        """The past before the first token: one row, of length 0."""
        ports = [port for port in self.stepper.get_inputs() if port.name.startswith("past.")]
        return {p.name: np.zeros((1, p.shape[1], 0, p.shape[3]), np.float32) for p in ports}

    def step(self, tokens: list[int], memory: Arrays, past: Arrays) -> tuple[np.ndarray, Arrays]:
        """The log-probabilities [rows V] of what follows each row's token, and the past with that token."""
        names = [port.name for port in self.stepper.get_outputs()]
        logits, *present = self.stepper.run(names, {"tokens": np.array(tokens), **memory, **past})
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        log_p[:, self.never] = -np.inf
        longer = [name.replace("present.", "past.") for name in names[1:]]
        return log_p, dict(zip(longer, present, strict=True))


class Search(NamedTuple):
    """The search settings that the model was evaluated with."""

    beam: int
    length_penalty: float
    max_extra: int

    def score(self, log_p: float, length: int) -> float:
        """What hypotheses are ranked by; `length` counts the end of the sentence."""
        return log_p / ((5 + length) / 6) ** self.length_penalty


def greedy(model: Model, ids: list[int], longest: int) -> list[int]:
    """Always the most probable token."""
    memory, past, output, token = model.encode(ids), model.nothing(), [], model.bos
    while len(output) < longest:
        log_p, past = model.step([token], memory, past)
        token = int(log_p[0].argmax())
        if token == model.eos:
            break
        output.append(token)
    return output


def beam_search(model: Model, ids: list[int], longest: int, search: Search) -> list[int]:
    """The best of `beam` hypotheses; one that ends takes its beam with it."""
    memory, past = model.encode(ids), model.nothing()
    outputs, sums = [[]], np.zeros(1)
    found: list[tuple[float, list[int]]] = []
    while outputs:
        log_p, past = model.step([output[-1] if output else model.bos for output in outputs], memory, past)
        if len(outputs[0]) == longest:
            log_p[:, np.arange(log_p.shape[1]) != model.eos] = -np.inf
        totals = (sums[:, None] + log_p).ravel()
        room = min(search.beam - len(found), len(totals))
        best = np.argpartition(-totals, room - 1)[:room]
        best = best[totals[best] > -np.inf]
        rows, tokens = np.divmod(best, log_p.shape[1])
        found += [
            (search.score(totals[i], len(outputs[row]) + 1), outputs[row])
            for i, row, token in zip(best, rows, tokens, strict=True)
            if token == model.eos
        ]
        goes_on = tokens != model.eos
        outputs = [[*outputs[row], int(token)] for row, token in zip(rows[goes_on], tokens[goes_on], strict=True)]
        sums = totals[best[goes_on]]
        past = {name: kept[rows[goes_on]] for name, kept in past.items()}
        # A sum only falls, and the penalty is largest for the longest output: no open beam can get above this.
        if found and outputs and max(found)[0] >= search.score(sums.max(), longest + 1):
            break
    return max(found)[1]


class Tokenizer:
    """Text to ids and back, from the tokenizer files of the export."""

    def __init__(self, folder: Path, side: str) -> None:
        name = "joint" if (folder / "tokenizer.joint.toml").exists() else side
        self.settings: dict[str, Any] = tomllib.loads((folder / f"tokenizer.{name}.toml").read_text("utf-8"))
        self.kind = self.settings["kind"]
        if self.kind == "sentencepiece":
            import sentencepiece

            self.pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"tokenizer.{name}.spm"))
            return
        if self.kind not in ("characters", "words"):
            sys.exit(f"This example knows no tokenizer of the kind {self.kind}.")
        lines = (folder / f"tokenizer.{name}.vocab").read_text("utf-8").split("\n")[:-1]
        escaped = {"n": "\n", "r": "\r"}
        self.symbols = [re.sub(r"\\(.)", lambda found: escaped.get(found[1], found[1]), line) for line in lines]
        self.ids = {symbol: index for index, symbol in enumerate(self.symbols) if index > 3}  # 0 to 3 are special

    def normalise(self, text: str) -> str:
        """Unicode form, case, and blanks, as the tokenizer was trained."""
        form = self.settings.get("unicode_form") or ("NFKC" if self.kind == "sentencepiece" else "NFC")
        text = text if form == "none" else unicodedata.normalize(form, text)
        if self.settings.get("lowercase"):
            text = text.lower() if form == "none" else unicodedata.normalize(form, text.lower())
        return " ".join(text.replace("▁", " ").split()) if self.kind == "sentencepiece" else text

    def encode(self, text: str) -> list[int]:
        """Ids, without those of the beginning and the end."""
        text = self.normalise(text)
        if self.kind == "sentencepiece":
            return self.pieces.encode(text)
        return [self.ids.get(symbol, 1) for symbol in (list(text) if self.kind == "characters" else text.split())]

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        if self.kind == "sentencepiece":
            text = self.pieces.decode(ids)
        else:
            text = ("" if self.kind == "characters" else " ").join("⁇" if i == 1 else self.symbols[i] for i in ids)
        return unicodedata.normalize("NFC", text) if self.settings.get("unicode_form") == "NFD" else text


def translate(folder: Path, lines: Iterator[str], beam: int | None) -> Iterator[str]:
    """One line out for each line in."""
    recipe = tomllib.loads((folder / "recipe.toml").read_text("utf-8"))
    settings = recipe["search"]
    method = settings.get("method", "beam")
    if method != "beam" and beam is None:
        sys.exit(
            f'error: this model was evaluated with search.method = "{method}", and here are only beams: say --beam.'
        )
    search = Search(beam or settings["beam"], settings.get("length_penalty", 0.6), settings["max_extra"])
    model, source, target = Model(folder), Tokenizer(folder, "source"), Tokenizer(folder, "target")
    for number, line in enumerate(lines, start=1):
        ids = source.encode(line) if line.strip() else []
        if not ids:
            yield ""
            continue
        longest = len(ids) + search.max_extra
        if model.longest is not None:
            if len(ids) >= model.longest:
                sys.exit(f"error: line {number} has {len(ids)} tokens, but this model reads {model.longest - 1}.")
            longest = min(longest, model.longest - 1)
        yield target.decode(
            greedy(model, ids, longest) if search.beam == 1 else beam_search(model, ids, longest, search)
        )


def text_of(lines: Iterable[bytes]) -> Iterator[str]:
    """Lines as `heedful translate` reads them: without a byte order mark, and whatever is not UTF-8 is U+FFFD."""
    for number, line in enumerate(lines, start=1):
        line = line.removesuffix(b"\n").removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf" if number == 1 else b"")
        text = line.decode("utf-8", errors="replace")
        if text.encode() != line:
            print(f"warning: line {number} is not UTF-8; replaced by U+FFFD", file=sys.stderr)
        yield text


def main() -> None:
    """Read a file or standard input, write to standard output."""
    parser = argparse.ArgumentParser(description="Translate with an ONNX export, line by line.")
    parser.add_argument("export", type=Path)
    parser.add_argument("file", type=argparse.FileType("rb"), nargs="?", default=sys.stdin.buffer)
    parser.add_argument("--beam", type=int, help="beams; 1 is greedy; left out: as the model was evaluated")
    given = parser.parse_args()
    if given.beam is not None and given.beam < 1:
        parser.error(f"--beam must be at least 1, but is {given.beam}")
    if not (given.export / "step.onnx").is_file():
        parser.error(f"{given.export} is no ONNX export: it has no step.onnx")
    for output in translate(given.export, text_of(given.file), given.beam):
        sys.stdout.buffer.write(f"{output}\n".encode())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
