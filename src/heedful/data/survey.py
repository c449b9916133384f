"""One pass over a split: what statistics and checks need to know of each pair, in a few bytes a pair.

Knows nothing of what is good or bad. Texts are not kept: what two pairs have in common is told by 64-bit hashes.
"""

import hashlib
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heedful.data.corpus import Pair
from heedful.text.normalise import INVISIBLE, in_compared_form, is_blank
from heedful.text.tokenizer import Tokenizer, Tokenizers
from heedful.text.vocabulary import UNK

CHUNK = 8192
TAB_OR_OBJECT = re.compile(r"\t|^\s*\{.*\}\s*$")  # in a line: it looks like a row of a table
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]")  # C0 and C1 without white space; U+FFFD: lost text
Numbers = NDArray[np.int64]


class SideSurvey(NamedTuple):
    """One side of a split, one entry a pair."""

    characters: Numbers
    words: Numbers
    tokens: Numbers | None  # without EOS; None without a tokeniser
    unknown: int  # how many tokens are UNK
    hashes: NDArray[np.uint64]  # equal for texts that are equal but for case, Unicode form and white space
    alphabet: dict[str, int]  # character -> number of its first pair
    control: dict[int, str]  # number of a pair -> its first control character
    invisible: dict[int, str]  # number of a pair -> its first invisible character
    rows: int  # lines that look like rows of a table
    lost: Numbers  # of the targets that the tokeniser does not give back as they are
    lost_symbols: dict[str, int]  # what they lose, characters or, of a tokeniser of words, words -> how many lose it


class SplitSurvey(NamedTuple):
    """A split. Pairs are numbered from 0."""

    split: str
    source: SideSurvey
    target: SideSurvey
    hashes: NDArray[np.uint64]  # of both sides together
    same: int  # pairs whose sides are equal

    @property
    def pairs(self) -> int:
        """Number of pairs of the split."""
        return len(self.hashes)


def survey(split: str, pairs: Iterable[Pair], tokenizers: Tokenizers | None = None) -> SplitSurvey:
    """Read a split once, in chunks."""
    source = _Counter(None if tokenizers is None else tokenizers.source)
    target = _Counter(None if tokenizers is None else tokenizers.target, gives_back=True)
    stream = iter(pairs)
    while chunk := list(islice(stream, CHUNK)):
        source.count([pair.source for pair in chunk])
        target.count([pair.target for pair in chunk])
    sides = source.side(), target.side()
    mixed = sides[0].hashes * np.uint64(0x9E3779B97F4A7C15) ^ sides[1].hashes  # odd factor: (a, b) is not (b, a)
    return SplitSurvey(split, *sides, mixed, int((sides[0].hashes == sides[1].hashes).sum()))


class _Counter:
    """The running account of one side."""

    def __init__(self, tokenizer: Tokenizer | None, *, gives_back: bool = False) -> None:
        """Prepare to count; with `gives_back`, what is encoded is decoded, too, and compared."""
        self._tokenizer, self._gives_back = tokenizer, gives_back
        self._characters, self._words, self._tokens, self._lost = array("q"), array("q"), array("q"), array("q")
        self._lost_symbols: Counter[str] = Counter()
        self._hashes = array("Q")
        self._unknown = 0
        self._alphabet: dict[str, int] = {}
        self._control: dict[int, str] = {}
        self._invisible: dict[int, str] = {}
        self._rows = 0

    def count(self, texts: Sequence[str]) -> None:
        """Add the next texts."""
        for number, text in enumerate(texts, start=len(self._hashes)):
            self._characters.append(len(text))
            self._words.append(0 if is_blank(text) else len(text.split()))
            self._hashes.append(text_hash(text))
            if not self._alphabet.keys() >= (characters := set(text)):
                self._alphabet.update(dict.fromkeys(characters - self._alphabet.keys(), number))
            if control := CONTROL.search(text):
                self._control[number] = control[0]
            if invisible := INVISIBLE.search(text):
                self._invisible[number] = invisible[0]
            self._rows += TAB_OR_OBJECT.search(text) is not None
        if self._tokenizer is not None:
            for number, ids in enumerate(self._tokenizer.encode_all(texts), start=len(self._tokens)):
                self._tokens.append(len(ids))
                self._unknown += ids.count(UNK)
                if self._gives_back:
                    self._compare(number, texts[number - len(self._hashes)], self._tokenizer.decode(ids))

    def _compare(self, number: int, text: str, given: str) -> None:
        """Note a text that is another after encoding and decoding, but for white space and Unicode's equal forms."""
        text, given = (" ".join(in_compared_form(one).split()) for one in (text, given))
        if text != given:
            self._lost.append(number)
            words = self._tokenizer is not None and self._tokenizer.config.kind == "words"
            had, has = (Counter(one.split() if words else one) for one in (text, given))
            self._lost_symbols.update((had - has).keys())

    def side(self) -> SideSurvey:
        """Return the counts."""
        columns = (self._characters, self._words, self._tokens, self._lost)
        characters, words, tokens, lost = (np.array(column, np.int64) for column in columns)
        hashes = np.array(self._hashes, np.uint64)
        tokens = None if self._tokenizer is None else tokens
        return SideSurvey(
            characters,
            words,
            tokens,
            self._unknown,
            hashes,
            self._alphabet,
            self._control,
            self._invisible,
            self._rows,
            lost,
            dict(self._lost_symbols),
        )


def text_hash(text: str) -> int:
    """Hash a text, as `plain` has it, to 64 bits."""
    return int.from_bytes(hashlib.blake2b(plain(text).encode(), digest_size=8).digest(), "little")


def plain(text: str) -> str:
    """Normalise a text for comparison: case, Unicode form (NFKC) and white space are levelled."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def duplicates(hashes: NDArray[np.uint64]) -> int:
    """Count the entries that repeat an earlier one."""
    return len(hashes) - len(np.unique(hashes))


def found_in(hashes: NDArray[np.uint64], others: NDArray[np.uint64]) -> Numbers:
    """Return the numbers of the entries that are among the others."""
    return np.flatnonzero(np.isin(hashes, others))
