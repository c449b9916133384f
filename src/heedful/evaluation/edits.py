"""The edits between an output and its closest reference, and what can be said of them: their kinds, places and letters.

Knows no metric and no list of reasons (`heedful.evaluation.mistakes` has it).
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby, zip_longest
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein, Opcode

from heedful.text.normalise import in_compared_form

LETTERS_OF_PHONE = 3  # at most: a triphthong
Sound = Literal["vowel", "consonant"]


class EditUnits(NamedTuple):
    """An output in units, the reference with the fewest edits to it, and what joins units to text."""

    output: list[str]
    reference: list[str]
    joint: str

    @property
    def by_character(self) -> bool:
        """True where the units are characters."""
        return self.joint == ""


class Change(NamedTuple):
    """A column of an alignment: what was written, and what was wanted; "" where one is missing or too many."""

    written: str
    wanted: str

    @property
    def kind(self) -> Literal["equal", "substitution", "insertion", "deletion"]:
        """The name of the edit, as error rates count it: an insertion is a unit too many."""
        if self.written == self.wanted:
            return "equal"
        if not self.wanted:
            return "insertion"
        return "substitution" if self.written else "deletion"


def beside_closest(output: str, references: Sequence[str]) -> EditUnits:
    """Split an output and its closest reference into units.

    Units are blank-separated symbols; characters where neither the output nor a reference has a blank inside.
    """
    by_character = all(len(text.split()) < 2 for text in (output, *references))
    written = _split(output, by_character)
    targets = [_split(reference, by_character) for reference in references]
    closest = min(targets, key=lambda target: Levenshtein.distance(written, target))
    return EditUnits(written, closest, "" if by_character else " ")


def _split(text: str, by_character: bool) -> list[str]:
    text = in_compared_form(text)
    return list(text.strip()) if by_character else text.split()


def aligned(units: EditUnits) -> list[Change]:
    """Align both sides column by column, with the fewest edits; of equally many, those that move nothing.

    So labels, which are as many as wanted, are compared place by place.
    """
    output, reference, _ = units
    if len(output) == len(reference):
        pairs = [Change(*pair) for pair in zip(output, reference, strict=True)]
        if sum(pair.kind != "equal" for pair in pairs) == Levenshtein.distance(output, reference):
            return pairs
    return [column for step in Levenshtein.opcodes(output, reference) for column in _columns(units, step)]


def _columns(units: EditUnits, step: Opcode) -> list[Change]:
    written = units.output[step.src_start : step.src_end]
    wanted = units.reference[step.dest_start : step.dest_end]
    return [Change(*pair) for pair in zip_longest(written, wanted, fillvalue="")]


def edits(columns: Sequence[Change]) -> list[Change]:
    """Return the columns that are wrong."""
    return [column for column in columns if column.kind != "equal"]


def spans(columns: Sequence[Change]) -> list[list[Change]]:
    """Return the wrong parts, each as long as no right unit stands between, in order."""
    return [list(group) for wrong, group in groupby(columns, lambda column: column.kind != "equal") if wrong]


def sound(unit: str) -> Sound | None:
    """Tell a vowel from a consonant: an ARPAbet symbol, or letters of IPA or an alphabet; None for neither.

    A unit that mixes both is a word or a syllable, and capitals that are no ARPAbet are a label. Letters of scripts
    other than Latin, Greek and Cyrillic are neither.
    """
    symbol = re.sub(r"[0-2]$", "", unit)  # ARPAbet's stress
    if symbol in _ARPABET_VOWELS or symbol in _ARPABET_CONSONANTS:
        return "vowel" if symbol in _ARPABET_VOWELS else "consonant"
    if unit != unit.lower():
        return None  # a label, such as ADJ or O
    found: set[Sound | None] = {
        _letter_sound(letter) for letter in unit if unicodedata.category(letter) not in _MODIFIERS
    }
    return found.pop() if len(found) == 1 and len(unit) <= 2 * LETTERS_OF_PHONE else None


def _letter_sound(letter: str) -> Sound | None:
    if letter in "йў":  # their bases without the breve are vowels
        return "consonant"
    base = unicodedata.normalize("NFD", letter)[0]
    if base in _VOWELS:
        return "vowel"
    return "consonant" if unicodedata.name(base, "").startswith(_ALPHABETS) and base.isalpha() else None


_ARPABET_VOWELS = frozenset(
    ["AA", "AE", "AH", "AO", "AW", "AX", "AXR", "AY", "EH", "ER", "EY", "IH", "IX", "IY", "OW", "OY", "UH", "UW", "UX"]
)
_ARPABET_CONSONANTS = frozenset(
    ["B", "CH", "D", "DH", "F", "G", "HH", "JH", "K", "L", "M", "N", "NG", "P", "R", "S", "SH", "T", "TH"]
) | frozenset(["V", "W", "Y", "Z", "ZH"])
_VOWELS = frozenset(
    ["AA", "AE", "AH", "AO", "AW", "AX", "AXR", "AY", "EH", "ER", "EY", "IH", "IX", "IY", "OW", "OY", "UH", "UW", "UX"]
)
_ARPABET_CONSONANTS = frozenset(
    [
        "B",
        "CH",
        "D",
        "DH",
        "F",
        "G",
        "HH",
        "JH",
        "K",
        "L",
        "M",
        "N",
        "NG",
        "P",
        "R",
        "S",
        "SH",
        "T",
        "TH",
        "V",
        "W",
        "Y",
        "Z",
        "ZH",
    ]
)
_VOWELS = frozenset("aeiouyæøœıɐɑɒɔɘəɚɛɜɝɞɤɨɪɯɵɶʉʊʌʏ" + "αεηιουω" + "аеиоуыэюяіє")
_ALPHABETS = ("LATIN ", "GREEK ", "CYRILLIC ")
_MODIFIERS = ("Lm", "Mn", "Sk")  # length, aspiration, stress, tie bars and accents belong to the letter before


def all_sounds(units: EditUnits, wrong: Sequence[Change]) -> Sound | None:
    """Return "vowel" where every edit concerns vowels alone, "consonant" likewise, else None.

    Blank-separated units must all be single sounds on both sides, a vowel among them, or they are words or labels.
    """
    if units.by_character:
        kinds: set[Sound | None] = {sound(unit.lower()) for edit in wrong for unit in edit if unit}
    else:
        kinds = {sound(unit) for edit in wrong for unit in edit if unit}
        around = {sound(unit) for unit in (*units.output, *units.reference)}
        if None in around or "vowel" not in around:
            return None
    return kinds.pop() if len(kinds) == 1 else None


def same_stems(units: EditUnits, wrong: Sequence[Change]) -> bool:
    """Tell whether each edit exchanges a word for one that begins alike, by half of the longer one or more."""
    return not units.by_character and all(
        edit.kind == "substitution" and 2 * _shared(*edit) >= max(map(len, edit)) >= 2 * LETTERS_OF_PHONE - 1
        for edit in wrong
    )


def _shared(left: str, right: str) -> int:
    """Return the length of the common beginning."""
    pairs = zip(left, right, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def longest_loop(units: Sequence[str], longest_block: int) -> int:
    """Count how often a block of 1 to `longest_block` units stands in a row at most (1: no repeat, 0: no units)."""
    best = min(1, len(units))
    for width in range(1, min(longest_block, len(units) // 2) + 1):
        same = 0  # so many units in a row equal the one `width` before them
        for i in range(width, len(units)):
            same = same + 1 if units[i] == units[i - width] else 0
            best = max(best, same // width + 1)
    return best
