"""What is odd in the texts of one side: empty ones, characters that should not be there, rows of a table, a header, and
what the tokeniser cannot give back.

Knows nothing of what the sides have to do with each other.
"""

import re
from collections.abc import Iterator

import numpy as np

from heedful.data.corpus import Reader
from heedful.data.finding import EXAMPLES, Finding, place_in
from heedful.data.survey import SideSurvey, SplitSurvey
from heedful.errors import counted
from heedful.text.normalise import names_of

UNKNOWN_ALLOWED = 0.01
NEARLY_ALL_ROWS = 0.95
FEW_PAIRS = 20  # among which a first pair that is unlike the others says nothing
NAMED = 8  # characters that a finding names


def check_side(split: str, name: str, side: SideSurvey) -> Iterator[Finding]:
    """Yield the problems of one side of a split, its `name` being source or target."""
    empty = np.flatnonzero(side.words == 0)
    if len(empty):
        consequence = "Training leaves such pairs out" if split == "train" else "A held-out pair needs both sides"
        text = f"{counted(len(empty), 'empty line')} on the {name} side."
        yield Finding("warning", "empty", place_in(split, empty), text, f"{consequence}; remove them.")
    if side.control:
        places = np.array(list(side.control))
        signs = ", ".join(sorted({f"U+{ord(sign):04X}" for sign in side.control.values()})[:5])
        text = f"{counted(len(places), 'line')} on the {name} side with control or replacement characters ({signs})."
        yield Finding("warning", "control characters", place_in(split, places), text, "Was the encoding wrong?")
    if side.invisible:
        places = np.array(list(side.invisible))
        signs = names_of("".join(sorted(set(side.invisible.values()))[:NAMED]))
        text = f"{counted(len(places), 'line')} on the {name} side with invisible characters ({signs})."
        hint = "They are learned and written like letters, and change scores: remove those that are not meant."
        yield Finding("warning", "invisible characters", place_in(split, places), text, hint)
    tokens = 0 if side.tokens is None else int(side.tokens.sum())
    if side.unknown > UNKNOWN_ALLOWED * tokens:
        text = f"{side.unknown / tokens:.1%} of the {name} tokens are unknown to the tokenizer."
        hint = "Is it the right tokenizer for this side? Or raise `vocab_size`."
        yield Finding("warning", "unknown", split, text, hint)
    if len(side.lost):
        yield _lost(split, name, side)


def _lost(split: str, name: str, side: SideSurvey) -> Finding:
    """Describe texts that no model can write as they are, whatever it has learned."""
    most = sorted(side.lost_symbols, key=lambda symbol: (-side.lost_symbols[symbol], symbol))
    more = f" and {len(most) - NAMED:,} others" if len(most) > NAMED else ""
    shown = ", ".join(names_of(symbol) if len(symbol) == 1 else repr(symbol) for symbol in most[:NAMED])
    signs = f": {shown}{more}" if most else ""
    share = f"{len(side.lost):,} of {len(side.words):,} {name}s"
    text = f"{share} cannot be given back by the tokenizer, so that no model writes them exactly{signs}."
    hint = (
        "Its Unicode form (NFKC writes … as three dots), `lowercase`, or a vocabulary without them: see [tokenizer]. "
        "Or write the data as the tokenizer does."
    )
    return Finding("warning", "not written", place_in(split, side.lost), text, hint)


def check_rows(found: SplitSurvey) -> Iterator[Finding]:
    """Find lines that look like rows of a table: two tables are no pair of aligned files."""
    shares = {name: side.rows / found.pairs for name, side in (("source", found.source), ("target", found.target))}
    rows = [name for name, share in shares.items() if share >= NEARLY_ALL_ROWS]
    if rows:
        both = len(rows) == 2
        where = "both sides" if both else f"the {rows[0]} side"
        text = f"Nearly all lines of {where} look like rows of a table, with tabs or as JSON."
        hint = "A table has both sides: name it alone, by its ending (.tsv, .jsonl, ...)."
        yield Finding("error" if both else "warning", "table", found.split, text, hint)


def check_first(found: SplitSurvey, read: Reader) -> Iterator[Finding]:
    """Find a first pair of one word each among sentences, which may be names of columns."""
    sides = found.source.words, found.target.words
    if found.pairs < FEW_PAIRS or any(words[0] != 1 or np.median(words) < EXAMPLES for words in sides):
        return
    first = next(iter(read()))
    if all(re.fullmatch(r"[\w\-]+", text.strip()) for text in first):
        text = f"The first pair is a word each, {first.source!r} / {first.target!r}, unlike the others: is it a header?"
        hint = "Name the columns by data.source_column and data.target_column, or remove the line."
        yield Finding("warning", "header", f"{found.split}:1", text, hint)
