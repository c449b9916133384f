"""The cell of data whose alignment is known by construction, and of real data."""

import gzip
import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from heedful.data.corpus import Pair, read_pairs
from heedful.data.taxonomy import SAMPLE, Taxonomy, UnitCounts, frames_needed, in_units, taxonomy
from heedful.datasets.synthetic import task_pairs
from heedful.errors import ConfigError, HeedfulError
from heedful.recipe.tables import TASKS

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real data at {DATA.name}")


def measured(pairs: Iterable[Pair]) -> tuple[UnitCounts, Taxonomy]:
    units, ids = in_units(pairs, None)
    return units, taxonomy(ids)


def spelled_out(count: int) -> Iterator[Pair]:
    """Each letter becomes one to three sounds of its own, in its order."""
    chance = random.Random(3)
    sounds = {letter: [f"{letter}{n}" for n in range(1 + place % 3)] for place, letter in enumerate("abcdefghi")}
    for _ in range(count):
        letters = chance.choices("abcdefghi", k=chance.randint(3, 9))
        yield Pair("".join(letters), " ".join(sound for letter in letters for sound in sounds[letter]))


class TestKnownCells:
    def test_copy_is_tagging(self) -> None:
        units, found = measured(task_pairs(TASKS["copy"], 1, "train", 300))
        assert units == ("words", "words")
        assert found.cell == "tagging"
        assert (found.lengths.equal, found.order.own_position, found.order.whole) == (1, 1, 1)
        assert found.losses[0] == "cross-entropy of each position"
        assert "empty for a reason" in found.remark

    @pytest.mark.parametrize("task", ["reverse", "sort"])
    def test_equal_lengths_alone_do_not_make_tagging(self, task: str) -> None:
        """The fourth cell: synchronous but not aligned is not what this is."""
        _, found = measured(task_pairs(TASKS[task], 1, "train", 300))
        assert found.cell == "seq2seq"
        assert found.lengths.equal == 1
        assert found.remark.startswith("Sides are equally long, but output t does not come from input t.")
        assert found.losses == ["cross-entropy of the next word, with a decoder"]

    def test_another_word_order_is_seq2seq(self) -> None:
        _, found = measured(task_pairs(TASKS["lexicon"], 1, "train", 300))
        assert found.cell == "seq2seq"
        assert 0.2 < found.lengths.equal < 0.6
        assert found.remark == "Outputs come from positions before those already read."

    def test_the_same_order_is_ctc(self) -> None:
        units, found = measured(spelled_out(300))
        assert units == ("characters", "words")
        assert found.cell == "ctc"
        assert found.order.in_order > 0.99
        assert found.lengths.upsampling == 3
        assert found.losses == [
            "CTC, with 3 frames for each source unit",
            "cross-entropy of the next word, with a decoder",
        ]


class TestFrames:
    @pytest.mark.parametrize(
        ("source", "target", "frames"),
        [("abc", "xyz", 1), ("abc", "xxz", 2), ("ab", "xxyy", 3), ("a", "xyxy", 4), ("abc", "", 1), ("", "", 1)],
    )
    def test_by_hand(self, source: str, target: str, frames: int) -> None:
        """U + repeats: 3; 3 + 1; 4 + 2; 4 + 0; nothing."""
        assert frames_needed(letters(source), letters(target)) == frames

    def test_an_empty_source_is_never_enough(self) -> None:
        assert frames_needed(letters(""), letters("x")) is None
        found = taxonomy([(letters(""), letters("x")), (letters("ab"), letters("ab"))])
        assert found.lengths[2:] == (1, None)
        assert not [loss for loss in found.losses if "CTC" in loss]

    def test_is_what_collapsing_needs(self) -> None:
        """By brute force: the fewest frames in which some row of labels and blanks collapses to the target."""
        for target in itertools.product("xy", repeat=3):
            frames = next(
                n for n in range(1, 7) if any(collapsed(row) == target for row in itertools.product("xy-", repeat=n))
            )
            assert frames_needed(letters("a"), letters("".join(target))) == frames


def shifted(sounds: list[str]) -> tuple[list[str], list[str]]:
    return sounds[:-1], sounds[1:]


def letters(text: str) -> np.ndarray:
    return np.array([ord(letter) for letter in text], np.int32)


def collapsed(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(label for label, _ in itertools.groupby(row) if label != "-")


def test_of_many_pairs_a_sample_is_aligned_and_all_are_counted() -> None:
    pairs = [Pair("a b", "a b")] * (4 * SAMPLE + 3)
    _, found = measured(pairs)
    assert found.lengths.pairs == len(pairs)
    assert SAMPLE <= found.order.pairs <= 2 * SAMPLE


@pytest.mark.parametrize(
    ("pairs", "message"),
    [([], "There are no pairs."), ([Pair("", "a")], "No pair can be aligned."), ([Pair("a " * 101, "b")], "No pair")],
)
def test_nothing_to_measure(pairs: list[Pair], message: str) -> None:
    with pytest.raises(HeedfulError, match=message) as error:
        measured(pairs)
    assert error.value.hint


@needs_data
@pytest.mark.slow
class TestRealData:
    def test_english_spelling_is_too_short_for_ctc_in_many_words(self) -> None:
        """Published count of words with more sounds than letters; a sound that is doubled needs one frame more."""
        pairs = list(read_pairs([DATA / "sigmorphon2021-g2p" / "high" / "eng_us_train.tsv"], "1", "2"))
        more = sum(len(pair.target.split()) > len(pair.source) for pair in pairs)
        assert (more, len(pairs)) == (4307, 33_344)
        _, ids = in_units(pairs, None)
        needed = [frames_needed(source, target) for source, target in ids]
        repeats = [sum(map(str.__eq__, *shifted(pair.target.split()))) for pair in pairs]
        short = sum(len(p.target.split()) + n > len(p.source) for p, n in zip(pairs, repeats, strict=True))
        assert sum(frames != 1 for frames in needed) == short == 4363

    def test_words_and_their_tags_are_tagging(self) -> None:
        _, found = measured(itertools.islice(tagged(DATA / "ud-english-ewt" / "en_ewt-ud-train.conllu.gz"), 1000))
        assert found.cell == "tagging"

    def test_german_and_english_are_seq2seq(self) -> None:
        folder = DATA / "multi30k" / "tok"
        pairs = read_pairs([folder / f"train.lc.norm.tok.{language}.gz" for language in ("de", "en")])
        _, found = measured(itertools.islice(pairs, 1000))
        assert found.cell == "seq2seq"


def tagged(file: Path) -> Iterator[Pair]:
    """Words and universal parts of speech of each sentence of a CoNLL-U file."""
    rows: list[list[str]] = []
    for line in gzip.decompress(file.read_bytes()).decode().splitlines(keepends=True):
        columns = line.split("\t")
        if columns[0].isdigit():
            rows.append(columns)
        elif not line.strip() and rows:
            yield Pair(" ".join(row[1].replace(" ", "_") for row in rows), " ".join(row[3] for row in rows))
            rows = []


def test_one_label_a_source_is_no_spelling() -> None:
    """Single words that return are labels; those that do not are spelled."""
    pairs = [Pair(f"{n} and some words", "yes" if n % 2 else "no") for n in range(100)]
    units, ids = in_units(pairs, None)
    assert units.target == "words"
    assert taxonomy(ids).cell == "label"


def test_recordings_are_not_looked_into() -> None:
    with pytest.raises(ConfigError, match="Sources are names of recordings, which are not looked into"):
        in_units([Pair("a.wav b.wav", "one two")], None)
