"""What a model got wrong, item by item, with what can be seen of the reason.

The reasons are observations on the texts alone; why the model did it is not known here.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from heedful.evaluation.metrics import collapse_blanks, is_right
from heedful.records.outputs import Output
from heedful.text.normalise import in_compared_form

UNKNOWN = "⁇"  # what a tokeniser writes for an id that has no text
REPEATS = 3  # a block so often in a row is a loop
LONGEST_BLOCK = 8
# Each reason with what it says, the most telling first.
REASONS = {
    "empty": "nothing was written",
    "unknown symbol": "a symbol that the vocabulary lacks",
    "copy": "the source was copied",
    "loop": "a part repeats again and again",
    "wrong script": "letters of another script than the reference's",
    "too short": "less than half of the reference's length",
    "too long": "more than twice the reference's length",
    "one symbol": "a single symbol inserted, missing or exchanged",
    "other": "none of these",
}


class Mistake(NamedTuple):
    """A wrong item, the metrics of this item alone, and its `reasons`: keys of REASONS, the most telling first."""

    item: Output
    measures: dict[str, float]
    reasons: list[str]

    def record(self) -> dict[str, Any]:
        """The line of errors.jsonl."""
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
    """The items whose output equals no reference, in order. `measures` maps a metric to its value for each item."""
    return [
        Mistake(item, {name: round(values[i], 4) for name, values in measures.items()}, observe(item))
        for i, item in enumerate(items)
        if not is_right(item.output, item.references)
    ]


def observe(item: Output) -> list[str]:
    """The reasons that can be seen in a wrong output, against its closest reference; at least one."""
    output, reference, _ = beside_closest(item.output, item.references)
    seen = {
        "empty": not output,
        "unknown symbol": UNKNOWN in item.output,
        "copy": bool(output) and collapse_blanks(item.output) == collapse_blanks(item.source),
        "loop": _is_loop(output, reference),
        "wrong script": _in_other_script(item.output, item.references),
        "too short": 0 < 2 * len(output) < len(reference),
        "too long": len(output) > 2 * len(reference) and len(output) > len(reference) + 1,
        "one symbol": Levenshtein.distance(output, reference) == 1,
    }
    return [reason for reason, holds in seen.items() if holds] or ["other"]


def beside_closest(output: str, references: Sequence[str]) -> tuple[list[str], list[str], str]:
    """The units of an output, those of the reference with the fewest edits to it, and what joins units to text.

    Units are blank-separated symbols; characters where neither the output nor a reference has a blank inside.
    """
    by_character = all(len(text.split()) < 2 for text in (output, *references))
    written = _units(output, by_character)
    targets = [_units(reference, by_character) for reference in references]
    closest = min(targets, key=lambda target: Levenshtein.distance(written, target))
    return written, closest, "" if by_character else " "


def _is_loop(output: Sequence[str], reference: Sequence[str]) -> bool:
    """Whether a part repeats more often than in the reference; labels, which repeat in both, are as many as wanted."""
    wanted = longest_loop(reference)
    labels = len(output) == len(reference) and wanted > 1
    return not labels and longest_loop(output) >= max(REPEATS, wanted + 1)


def longest_loop(units: Sequence[str]) -> int:
    """The most often that a block of 1 to 8 units stands in a row (1 where nothing repeats, 0 for no units)."""
    best = min(1, len(units))
    for width in range(1, min(LONGEST_BLOCK, len(units) // 2) + 1):
        same = 0  # so many units in a row equal the one `width` before them
        for i in range(width, len(units)):
            same = same + 1 if units[i] == units[i - width] else 0
            best = max(best, same // width + 1)
    return best


def _units(text: str, by_character: bool) -> list[str]:
    text = in_compared_form(text)
    return list(collapse_blanks(text)) if by_character else text.split()


def _in_other_script(output: str, references: Sequence[str]) -> bool:
    """Whether most letters of an output are of scripts that no reference uses."""
    wanted = set(_scripts("".join(references)))
    found = _scripts(output)
    foreign = sum(count for script, count in found.items() if script not in wanted)
    return bool(wanted) and 2 * foreign > sum(found.values())


def _scripts(text: str) -> Counter[str]:
    """How many letters of each script a text has, by the first word of their Unicode names."""
    names = (unicodedata.name(character, "") for character in text if character.isalpha())
    return Counter(
        _WRITTEN_TOGETHER.get(name.split(" ")[0].split("-")[0], name.split(" ")[0]) for name in names if name
    )


_WRITTEN_TOGETHER = {"CJK": "HAN", "HIRAGANA": "HAN", "KATAKANA": "HAN"}  # one text freely mixes these
