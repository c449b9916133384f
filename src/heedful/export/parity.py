"""Whether two engines say the same: texts, log-probabilities token by token, and where they part first.

Knows no engine and no file format of a target.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from heedful.decoding.translation import Token, Translation
from heedful.errors import CheckFailed, HeedfulError
from heedful.records.files import to_json, write_lines

REPORT = "parity.json"


class Engine(Protocol):
    """Anything that translates lines, one result a line and in order; `decoding.translator.Translator` is one."""

    def translate(self, lines: Sequence[str], *, n_best: int = 1) -> list[Translation]:
        """Translate lines of text, each with its `n_best` best candidates."""
        ...


class Tolerance(NamedTuple):
    """Largest difference that is allowed between an export and the model that it was made from."""

    equal_texts: float = 0.995  # the least share of outputs that are the same text
    log_p: float = 1e-3  # the largest difference of a token's natural log-probability, where the tokens are the same


FLOAT32 = Tolerance()


class Divergence(NamedTuple):
    """A line on which two engines part; `token` is the first place, from 0, at which their tokens differ."""

    line: int  # from 1
    source: str
    native: str
    other: str
    token: int
    native_score: float
    other_score: float


class Parity(NamedTuple):
    """The comparison of an engine with the native one on some lines."""

    lines: int
    equal: int  # lines with the same text
    tokens: int  # tokens whose log-probabilities were compared: those of the lines with the same tokens
    largest_log_p_difference: float
    first_divergence: Divergence | None
    tolerance: Tolerance

    @property
    def equal_share(self) -> float:
        """The share of lines with the same text."""
        return self.equal / self.lines

    @property
    def failures(self) -> list[str]:
        """Differences that exceed the tolerance, in words; empty where the two engines agree."""
        found = []
        if self.equal_share < self.tolerance.equal_texts:
            wanted = f"at least {self.tolerance.equal_texts:.1%} must be"
            found.append(
                f"only {self.equal:,} of {self.lines:,} texts ({self.equal_share:.1%}) are equal, but {wanted}"
            )
        if not self.largest_log_p_difference <= self.tolerance.log_p:  # NaN fails too
            found.append(
                f"a token's log-probability differs by {self.largest_log_p_difference:.2g}, "
                f"but at most {self.tolerance.log_p:g} is allowed"
            )
        if not self.tokens:
            found.append("no line has the same tokens, so no log-probability could be compared")
        return found

    def check(self, what: str = "The export") -> None:
        """Check that the engines agree. Raises CheckFailed, which begins with `what`, if they differ by more than the
        tolerance.
        """
        if self.failures:
            raise CheckFailed(f"{what} differs from the model: {'; '.join(self.failures)}.", hint=self._where)

    @property
    def _where(self) -> str | None:
        first = self.first_divergence
        if first is None:
            return None
        return (
            f'Line {first.line} ("{first.source}") differs first, from token {first.token + 1} on: '
            f'"{first.native}" has become "{first.other}".'
        )


def compare_engines(native: Engine, other: Engine, lines: Sequence[str], tolerance: Tolerance = FLOAT32) -> Parity:
    """Translate the lines with both engines and compare their best outputs.

    Raises HeedfulError where no line has any text, since blank lines prove nothing.
    """
    if not any(line.strip() for line in lines):
        raise HeedfulError("There is no text to compare the engines on.", hint="Name a file with sentences by --dev.")
    equal, tokens, largest, first = 0, 0, 0.0, None
    pairs = zip(native.translate(lines), other.translate(lines), strict=True)
    for number, (source, (mine, theirs)) in enumerate(zip(lines, pairs, strict=True), start=1):
        place = first_difference(mine.tokens, theirs.tokens)
        if place is None:
            tokens += len(mine.tokens)
            differences = [abs(a.log_p - b.log_p) for a, b in zip(mine.tokens, theirs.tokens, strict=True)]
            largest = max([largest, *differences], key=_nan_last)
        if mine.text == theirs.text:
            equal += 1
        elif first is None:
            scores = (mine.score, theirs.score)
            first = Divergence(number, source, mine.text, theirs.text, place or 0, *scores)
    return Parity(len(lines), equal, tokens, largest, first, tolerance)


def first_difference(left: Sequence[Token], right: Sequence[Token]) -> int | None:
    """Return the first position at which the pieces differ, or None where they are all the same."""
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one.piece != other.piece:
            return place
    return None if len(left) == len(right) else min(len(left), len(right))


def write_parity(folder: Path, parity: Parity) -> None:
    """Keep the comparison as `parity.json` in the folder of the export."""
    first = parity.first_divergence
    facts = {
        **parity._asdict(),
        "first_divergence": None if first is None else first._asdict(),
        "tolerance": parity.tolerance._asdict(),
        "equal_share": parity.equal_share,
        "failures": parity.failures,
    }
    write_lines(folder / REPORT, [to_json(facts)])


def _nan_last(number: float) -> float:
    return number if number == number else float("inf")
