"""A tokeniser as the `tokenizer.json` that transformers' PreTrainedTokenizerFast reads: one pipeline of normalising,
cutting, looking up and joining again.

A name with a blank in it is found by no text, since cut text has none. The special symbols have such names, so that a
text with "</s>" in it is just text. Two vocabularies become one, in which the target's symbols come first and are
hidden in this way; decoding takes the blank off.

Knows nothing of models.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sentencepiece

from heedful.text.normalise import BLANK_PIECE, TextNormaliser
from heedful.text.tokenizer import SentencePieceTokenizer, Tokenizer, Tokenizers
from heedful.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, UNKNOWN

Json = dict[str, Any]

HIDDEN = " "  # before the name of a symbol that text must not find
NAMES = tuple(2 * HIDDEN + name for name in SPECIALS)
SOURCE_NAMES = tuple(HIDDEN + name for name in NAMES)  # of the source's special symbols beside the target's
BLANKS = "[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"  # what str.split() splits at
CASELESS = r"\p{Case_Ignorable}"
BEFORE_SIGMA = "|".join(r"\p{Cased}" + CASELESS * count for count in range(4))  # no look-behind of any length
FINAL_SIGMA = rf"(?<={BEFORE_SIGMA})Σ(?!{CASELESS}*\p{{Cased}})"  # str.lower() knows it, tokenizers' does not
MANY = 1 << 16


class Entry(NamedTuple):
    """A symbol of the exported vocabulary."""

    name: str
    score: float


def tokenizer_refusals(tokenizers: Tokenizers) -> list[str]:
    """List what a `tokenizer.json` cannot express."""
    sides = (("source", tokenizers.source), ("target", tokenizers.target))
    refusals = [
        f'a {side} tokenizer that was imported with its model (`kind` = "pieces")'
        for side, tokenizer in sides
        if tokenizer.config.kind == "pieces"
    ]
    if tokenizers.target.normalise.form == "NFD":
        refusals.append('a target tokenizer with `unicode_form` = "NFD" (decoding would have to join the accents)')
    return refusals


def joint_tokenizer(tokenizer: Tokenizer) -> Json:
    """Make `tokenizer.json` of a tokeniser alone: it encodes and decodes with its own ids."""
    entries = [Entry(name, 0.0) for name in NAMES] + _entries(tokenizer)
    return _pipeline(tokenizer, entries, UNK, EOS, _decoder(tokenizer, hidden=False))


def union_tokenizer(tokenizers: Tokenizers) -> Json:
    """Make a `tokenizer.json` that encodes sources and decodes targets; the source's ids follow the target's."""
    source, target = tokenizers
    entries = [Entry(name, 0.0) for name in NAMES]
    entries += [Entry(HIDDEN + entry.name, 0.0) for entry in _entries(target)]
    entries += [Entry(name, 0.0) for name in SOURCE_NAMES] + _entries(source)
    return _pipeline(source, entries, len(target) + UNK, len(target) + EOS, _decoder(target, hidden=True))


def tokenizer_config(longest: int) -> Json:
    """Make `tokenizer_config.json`: which symbols are special. UNK is not, so that decoding shows it."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": NAMES[PAD],
        "bos_token": NAMES[BOS],
        "eos_token": NAMES[EOS],
        "model_max_length": longest,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
    }


def _entries(tokenizer: Tokenizer) -> list[Entry]:
    """List the symbols after the special ones, each with the score that a subword model gives it."""
    score = _scores(tokenizer)
    return [Entry(tokenizer.symbol(index), score[index]) for index in range(len(SPECIALS), len(tokenizer))]


def _scores(tokenizer: Tokenizer) -> Sequence[float]:
    if not isinstance(tokenizer, SentencePieceTokenizer):
        return [0.0] * len(tokenizer)
    model = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.content())
    return [model.get_score(index) for index in range(len(tokenizer))]


def _pipeline(tokenizer: Tokenizer, entries: list[Entry], unknown: int, end: int, decoder: Json) -> Json:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_special(index) for index in (PAD, BOS, EOS)],
        "normalizer": _sequence("normalizers", _normalizers(tokenizer.normalise)),
        "pre_tokenizer": _cut(tokenizer),
        "post_processor": _with_end(entries[end].name, end),
        "decoder": decoder,
        "model": _model(tokenizer, entries, unknown),
    }


def _special(index: int) -> Json:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": index, "content": NAMES[index], **flags, "special": True}


def _normalizers(normalise: TextNormaliser) -> list[Json]:
    form = [] if normalise.form == "none" else [{"type": normalise.form}]
    steps = list(form)
    if normalise.lowercase:
        steps += [_replace({"Regex": FINAL_SIGMA}, "ς"), {"type": "Lowercase"}, *form]
    if normalise.single_blanks:
        steps += [
            _replace({"String": BLANK_PIECE}, " "),
            _replace({"Regex": BLANKS}, " "),
            {"type": "Strip", "strip_left": True, "strip_right": True},
        ]
    return steps


def _cut(tokenizer: Tokenizer) -> Json:
    """Make the part that cuts normalised text before symbols are looked up."""
    if tokenizer.config.kind == "sentencepiece":
        return {"type": "Metaspace", "replacement": BLANK_PIECE, "prepend_scheme": "always", "split": True}
    if tokenizer.config.kind == "characters":
        return {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}
    return {"type": "Split", "pattern": {"Regex": BLANKS}, "behavior": "Removed", "invert": False}


def _with_end(name: str, index: int) -> Json:
    def part(kind: str, name: str) -> Json:
        return {kind: {"id": name, "type_id": 0}}

    end = part("SpecialToken", name)
    return {
        "type": "TemplateProcessing",
        "single": [part("Sequence", "A"), end],
        "pair": [part("Sequence", "A"), part("Sequence", "B"), end],
        "special_tokens": {name: {"id": name, "ids": [index], "tokens": [name]}},
    }


def _decoder(tokenizer: Tokenizer, *, hidden: bool) -> Json:
    """Make the part that turns the names of symbols into text."""
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    steps = [_replace({"String": NAMES[UNK]}, HIDDEN * hidden + UNKNOWN), *([strip] if hidden else [])]
    if tokenizer.config.kind == "sentencepiece":
        steps += [_replace({"String": BLANK_PIECE}, " "), {"type": "Fuse"}, {**strip, "start": MANY}]
    elif tokenizer.config.kind == "characters":
        steps += [{"type": "Fuse"}]
    else:  # puts a blank before each symbol but the first, and but those with this prefix, which no word has
        steps += [{"type": "WordPiece", "prefix": 2 * HIDDEN, "cleanup": False}]
    return _sequence("decoders", steps)


def _model(tokenizer: Tokenizer, entries: list[Entry], unknown: int) -> Json:
    names = [entry.name for entry in entries]
    ids = {name: index for index, name in enumerate(names)}
    if tokenizer.config.kind != "sentencepiece":
        return {"type": "WordLevel", "vocab": ids, "unk_token": names[unknown]}
    if tokenizer.config.algorithm == "unigram":
        scored = [list(entry) for entry in entries]
        return {"type": "Unigram", "unk_id": unknown, "vocab": scored, "byte_fallback": False}
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": names[unknown],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": ids,
        "merges": _merges(_entries(tokenizer)),
    }


def _merges(entries: list[Entry]) -> list[list[str]]:
    """List all pairs of pieces that make a piece, the best first: sentencepiece keeps the pieces only, not how they
    were merged.
    """
    known = {entry.name for entry in entries}
    merges = []
    for name, _ in sorted(entries, key=lambda entry: -entry.score):
        halves = ((name[:cut], name[cut:]) for cut in range(1, len(name)))
        merges += [[left, right] for left, right in halves if left in known and right in known]
    return merges


def _replace(pattern: Json, content: str) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _sequence(parts: str, steps: list[Json]) -> Json:
    return {"type": "Sequence", parts: steps}
