"""What a model got wrong, item by item, with what can be seen of the reason.

The reasons are observations on the texts alone; why the model did it is not known here.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from heedful.evaluation.edits import (
    Change,
    EditUnits,
    aligned,
    all_sounds,
    beside_closest,
    edits,
    longest_loop,
    same_stems,
    spans,
)
from heedful.evaluation.metrics import collapse_blanks, is_right
from heedful.records.outputs import Output
from heedful.text.normalise import in_compared_form

UNKNOWN = "⁇"  # what a tokeniser writes for an id that has no text
REPEATS = 3  # a block so often in a row is a repetition
LONGEST_BLOCK = 8
# Each reason with what it says, the most telling first. A "unit" is a symbol between blanks (a word, a phone, a label),
# or a character where neither side has a blank.
REASONS = {
    "empty": "nothing was written",
    "unknown symbol": "a symbol that the vocabulary lacks",
    "copy": "the source was copied",
    "repetition": "a part repeats again and again",
    "wrong script": "letters of another script than the reference's",
    "under-translation": "less than half of the reference's length",
    "over-translation": "more than twice the reference's length",
    "segmentation": "right but for where blanks stand",
    "casing": "right but for capital and small letters",
    "punctuation": "right but for punctuation",
    "diacritics": "right but for accents and other marks on letters",
    "number": "right but for the digits of its numbers",
    "wrong order": "the right units in another order",
    "vowel substitution": "a single vowel exchanged for another",
    "consonant substitution": "a single consonant exchanged for another",
    "inflection": "words that only begin like those of the reference",
    "substitution": "a single unit exchanged for another",
    "insertion": "a single unit too many",
    "deletion": "a single unit missing",
    "vowels only": "several edits, all of them of vowels",
    "consonants only": "several edits, all of them of consonants",
    "mostly wrong": "more edits than half of the reference's units",
    "beginning": "several edits, all of them before a right second half",
    "ending": "several edits, all of them behind a right first half",
    "several substitutions": "several units exchanged, and none missing or too many",
    "several insertions": "several units too many, and all of the reference there",
    "several deletions": "several units missing, and all that is there right",
    "one span": "edits of several kinds, side by side",
    "two spans": "edits of several kinds in two places",
    "other": "edits of several kinds in more than two places",
}


class Mistake(NamedTuple):
    """A wrong item, the metrics of this item alone, and its `reasons`: keys of REASONS, the most telling first."""

    item: Output
    measures: dict[str, float]
    reasons: list[str]

    def record(self) -> dict[str, Any]:
        """Return the line of errors.jsonl."""
        return {
            "id": self.item.id,
            "source": self.item.source,
            "references": self.item.references,
            "output": self.item.output,
            "score": self.item.score,
            "measures": self.measures,
            "reason": self.reasons[0],
            "reasons": self.reasons,
        }


def find_mistakes(items: Sequence[Output], measures: Mapping[str, Sequence[float]]) -> list[Mistake]:
    """List the items whose output equals no reference, in order. `measures` maps a metric to its
    value for each item.
    """
    return [
        Mistake(item, {name: round(values[i], 4) for name, values in measures.items()}, observe(item))
        for i, item in enumerate(items)
        if not is_right(item.output, item.references)
    ]


def observe(item: Output) -> list[str]:
    """List the reasons that can be seen in a wrong output, against its closest reference; at least one."""
    item = item._replace(
        source=in_compared_form(item.source),
        references=[in_compared_form(text) for text in item.references],
        output=in_compared_form(item.output),
    )
    units = beside_closest(item.output, item.references)
    output, reference, _ = units
    seen = {
        "empty": not output,
        "unknown symbol": UNKNOWN in item.output,
        "copy": bool(output) and collapse_blanks(item.output) == collapse_blanks(item.source),
        "repetition": _is_loop(output, reference),
        "wrong script": _in_other_script(item.output, item.references),
        "under-translation": 0 < 2 * len(output) < len(reference),
        "over-translation": len(output) > 2 * len(reference) and len(output) > len(reference) + 1,
        **dict.fromkeys(_right_but_for(item.output, item.references), True),
        "wrong order": Counter(output) == Counter(reference),
        **dict.fromkeys(_kinds_of_edits(units), True),
    }
    return [reason for reason in REASONS if seen.get(reason)]


def _kinds_of_edits(units: EditUnits) -> list[str]:
    """Describe what the edits have in common, and where they stand."""
    columns = aligned(units)
    wrong = edits(columns)
    kinds = {edit.kind for edit in wrong}
    sound = all_sounds(units, wrong)
    found = ["inflection"] if same_stems(units, wrong) else []
    if len(wrong) == 1:
        (kind,) = kinds
        return [*found, *([f"{sound} substitution"] if sound and kind == "substitution" else []), kind]
    found += [f"{sound}s only"] if sound else []
    found += ["mostly wrong"] if 2 * len(wrong) > len(units.reference) else []
    found += ["beginning"] if 2 * _right(columns[::-1]) >= len(columns) else []
    found += ["ending"] if 2 * _right(columns) >= len(columns) else []
    places = {1: "one span", 2: "two spans"}.get(len(spans(columns)), "other")
    return [*found, f"several {kinds.pop()}s" if len(kinds) == 1 else places]


def _right(columns: Sequence[Change]) -> int:
    """Count the columns that are right before the first wrong one."""
    return next((place for place, column in enumerate(columns) if column.kind != "equal"), len(columns))


def _is_loop(output: Sequence[str], reference: Sequence[str]) -> bool:
    """Return whether a part repeats more often than in the reference; labels, which repeat in both, may do so."""
    wanted = longest_loop(reference, LONGEST_BLOCK)
    labels = len(output) == len(reference) and wanted > 1
    return not labels and longest_loop(output, LONGEST_BLOCK) >= max(REPEATS, wanted + 1)


def _right_but_for(output: str, references: Sequence[str]) -> list[str]:
    """List what an output and a reference must be stripped of to be equal; nothing where that makes
    them equal nowhere.
    """
    written = _stripped(output, list(_STRIPPING))
    if not written:
        return []
    for reference in references:
        if _stripped(reference, list(_STRIPPING)) == written:
            enough = [name for name in _STRIPPING if _equal(output, reference, [name])]
            needed = [
                name for name in _STRIPPING if not _equal(output, reference, [n for n in _STRIPPING if n != name])
            ]
            return enough[:1] or needed
    return []


def _equal(output: str, reference: str, without: Sequence[str]) -> bool:
    return _stripped(output, without) == _stripped(reference, without)


def _stripped(text: str, names: Sequence[str]) -> str:
    for name in reversed(names):  # blanks last: what stood between them may be gone
        text = _STRIPPING[name](text)
    return collapse_blanks(text)


def _without_punctuation(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character)[0] != "P")


def _without_diacritics(text: str) -> str:
    """Strip letters of the marks above and below them; vowel signs and viramas of Indic scripts are kept."""
    marks = (0, 9)  # combining classes of vowel signs, which are letters of their own, and of viramas
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.combining(c) in marks)


def _without_numbers(text: str) -> str:
    """Replace each number by 0; digits that touch a Latin letter, as ARPAbet's stress does, are none."""
    return re.sub(r"(?<![A-Za-z])\d+(?:[.,]\d+)*(?![A-Za-z\d])", "0", text)


_STRIPPING: dict[str, Callable[[str], str]] = {
    "segmentation": lambda text: "".join(text.split()),
    "casing": str.casefold,
    "punctuation": _without_punctuation,
    "diacritics": _without_diacritics,
    "number": _without_numbers,
}


def _in_other_script(output: str, references: Sequence[str]) -> bool:
    """Return whether most letters of an output are of scripts that no reference uses."""
    wanted = set(_scripts("".join(references)))
    found = _scripts(output)
    foreign = sum(count for script, count in found.items() if script not in wanted)
    return bool(wanted) and 2 * foreign > sum(found.values())


def _scripts(text: str) -> Counter[str]:
    """Count the letters of each script in a text, by the first word of their Unicode names."""
    names = (unicodedata.name(character, "") for character in text if character.isalpha())
    return Counter(
        _WRITTEN_TOGETHER.get(name.split(" ")[0].split("-")[0], name.split(" ")[0]) for name in names if name
    )


_WRITTEN_TOGETHER = {"CJK": "HAN", "HIRAGANA": "HAN", "KATAKANA": "HAN"}  # one text freely mixes these
