"""Checks and statistics on data with planted faults."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.data.made_up import pairs, word_tokenizers

from heedful.data.check import Finding, Limits, check_splits, read_splits
from heedful.data.config import DataConfig
from heedful.data.corpus import Pair
from heedful.data.near_duplicates import near_duplicates, near_findings
from heedful.data.stats import data_stats, percentiles
from heedful.data.survey import duplicates, survey, text_hash
from heedful.pipeline.prepare import check_data
from heedful.recipe.splits import readers

CORPUS = list(dict.fromkeys(pairs(700)))
TRAIN, DEV = CORPUS[:500], CORPUS[500:600]


def check(train: list[Pair], dev: list[Pair] | None = None, limits: Limits | None = None) -> list[Finding]:
    splits: dict[str, Callable[[], list[Pair]]] = {"train": lambda: train}
    if dev is not None:
        splits["dev"] = lambda: dev
    return check_splits(read_splits(splits), limits or Limits())


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def test_good_data_have_no_findings() -> None:
    assert check(TRAIN, DEV) == []


TAGGED = [
    Pair(
        " ".join("ab"[k >> i & 1] * (1 + 20 * (i == 3)) for i in range(2 + k % 6)),
        " ".join(["A-VERY-LONG-NAME", "B"][k >> i & 1] for i in range(2 + k % 6)),
    )
    for k in range(200)
]
CLASSES = [Pair(f"w{k} is {'very ' * (k % 9)}good", ("yes", "a-class-of-a-very-long-name")[k % 2]) for k in range(200)]


class TestLabels:
    """Tags and classes: no text has a length that another suggests, but each word, or source, has one label."""

    def labels(self, train: list[Pair], limits: Limits | None = None) -> list[Finding]:
        return [found for found in check(train, limits=limits) if found.kind in ("labels", "length ratio")]

    def test_good_labels_have_no_findings(self) -> None:
        assert self.labels(TAGGED) == []
        assert self.labels(CLASSES) == []
        assert self.labels(TRAIN) == []

    def test_a_missing_label(self) -> None:
        found = only(self.labels([*TAGGED, Pair("a b a", "B"), Pair("a", "")]))
        assert (found.severity, found.place) == ("warning", "train:201")
        assert (
            found.text
            == "1 pair without as many words on both sides, as nearly all have: the first has 1 word for 3 words."
        )

    def test_a_text_among_labels_is_far_longer(self) -> None:
        found = self.labels([*TAGGED, Pair("a b", "long " * 60)])
        assert sorted(one.kind for one in found) == ["labels", "length ratio"]

    def test_a_class_that_is_never_in_train(self) -> None:
        dev = [Pair("q is good", "yes"), Pair("r is good", "yess")]
        found = only([one for one in check(CLASSES, dev) if one.kind == "unknown labels"])
        assert (found.severity, found.place) == ("warning", "dev:2")
        assert found.text == "1 pair with a label that never stands in train."

    def test_two_classes(self) -> None:
        found = only(self.labels([*CLASSES[:150], Pair("q", "yes no"), *CLASSES[150:]]))
        assert (found.severity, found.place) == ("warning", "train:151")
        assert found.text == "1 pair without one word as target, as nearly all have: the first has 2 words."

    def test_what_the_model_will_refuse_is_an_error(self) -> None:
        found = only(self.labels(CLASSES, Limits(labels="word")))
        assert (found.severity, found.place) == ("error", "train:1, 2, 3, ...")
        assert found.text == "200 pairs without a label for each word: the first has 1 label for 3 words."
        assert self.labels(CLASSES, Limits(labels="source")) == []


class TestOverlap:
    def dressed(self, pair: Pair) -> Pair:
        """The same but for case, full-width letters and blanks."""
        wide = {ord("a"): "ａ"}
        return Pair(f" {pair.source.upper()}", pair.target.replace(" ", "  ").translate(wide))

    def test_many_pairs_are_an_error(self) -> None:
        found = only(check([*TRAIN, *map(self.dressed, DEV[3:6])], DEV))
        assert (found.severity, found.kind, found.place) == ("error", "overlap", "dev:4, 5, 6")
        assert found.text == "In the training data too: 3 of 100 pairs of dev (3.0%), the first at train:501."
        assert "data.allow_overlap" in found.hint

    def test_allowed(self) -> None:
        assert only(check([*TRAIN, *DEV], DEV, Limits(allow_overlap=True))).severity == "warning"

    def test_one_in_a_hundred_is_a_warning(self) -> None:
        assert only(check([*TRAIN, DEV[0]], DEV)).severity == "warning"

    def test_same_sources_with_other_targets(self) -> None:
        found = only(check([*TRAIN, *(Pair(pair.source, f"{pair.target} other") for pair in DEV[:2])], DEV))
        assert (found.severity, found.place) == ("error", "dev:1, 2")
        assert "2 of 100 sources of dev" in found.text

    def test_same_targets_are_fine(self) -> None:
        assert check([*TRAIN, *(Pair(f"a {pair.source}", pair.target) for pair in DEV)], DEV) == []

    def test_sides_are_not_confused(self) -> None:
        assert check([*TRAIN, *(Pair(pair.target, pair.source) for pair in DEV)], DEV) == []


class TestWithinASplit:
    def test_empty_lines(self) -> None:
        found = only(check([*TRAIN, Pair(" ", "x"), Pair("", "y"), *DEV]))
        assert (found.severity, found.kind, found.place) == ("warning", "empty", "train:501, 502")
        assert found.text == "2 empty lines on the source side."
        assert "Training leaves such pairs out" in found.hint

    def test_duplicates(self) -> None:
        found = only(check([*TRAIN, *TRAIN[:50]]))
        assert (found.kind, found.text) == ("duplicates", "50 of 550 pairs (9.1%) repeat an earlier pair.")
        assert check([*TRAIN, *TRAIN[:20]]) == []

    def test_untranslated_lines(self) -> None:
        found = only(check([*TRAIN, *(Pair(pair.source, pair.source) for pair in DEV)]))
        assert found.kind == "untranslated"
        assert "100 of 600 pairs (16.7%) have the same text on both sides." in found.text

    def test_a_copy_task_is_no_fault(self) -> None:
        assert check([Pair(pair.source, pair.source) for pair in TRAIN]) == []

    def test_length_ratio(self) -> None:
        long = " ".join(["pili"] * 40)
        found = only(check([*TRAIN, Pair(long, "zyve"), Pair("pili", long)]))
        assert (found.kind, found.place) == ("length ratio", "train:501, 502")
        assert found.text.startswith("2 pairs with a side far longer than the other suggests: 'pili pili")
        assert "'zyve'" in found.text

    def test_length_ratio_is_relative_to_the_usual_one(self) -> None:
        """Spelling to phones: six times as long is normal there."""
        assert check([Pair(f"w{n}", " ".join(f"PH{n}" for _ in range(6))) for n in range(200)]) == []

    def test_control_characters(self) -> None:
        found = only(check([Pair("a\x00b", "x"), Pair("c\ufffd\x07", "tab\tis fine"), *TRAIN]))
        assert (found.kind, found.place) == ("control characters", "train:1, 2")
        assert found.text == "2 lines on the source side with control or replacement characters (U+0000, U+FFFD)."


class TestWithTokenizers:
    TOKENIZERS = word_tokenizers(TRAIN)

    def check(self, train: list[Pair], limits: Limits) -> list[Finding]:
        return check_splits(read_splits({"train": lambda: train}, self.TOKENIZERS), limits)

    def test_unknown_symbols(self) -> None:
        found = only(
            self.check([*TRAIN, *(Pair(f"new{n} {pair.source}", pair.target) for n, pair in enumerate(DEV))], Limits())
        )
        assert found.kind == "unknown"
        assert found.text.endswith("% of the source tokens are unknown to the tokenizer.")

    def test_too_long(self) -> None:
        long = TRAIN[0]._replace(source=" ".join(["pili"] * 30), target=" ".join(["zyve"] * 30))
        found = only(self.check([*TRAIN, long], Limits(max_length=29)))
        assert (found.kind, found.place) == ("too long", "train:501")
        assert found.text == "1 pair with more than max_length (29) tokens, up to 30."
        assert self.check([*TRAIN, long], Limits(max_length=30)) == []

    def test_larger_than_a_batch(self) -> None:
        long = TRAIN[0]._replace(source=" ".join(["pili"] * 30), target=" ".join(["zyve"] * 30))
        found = only(self.check([*TRAIN, long], Limits(max_tokens=30)))
        assert (found.kind, found.place) == ("batch", "train:501")
        assert found.text == "1 pair with more tokens than a batch may have (max_tokens is 30)."


class TestUnreadable:
    def test_own_files(self, tmp_path: Path) -> None:
        (tmp_path / "train.tsv").write_text("a\tb\nc\n")
        (tmp_path / "dev.tsv").write_text("d\te\n")
        data = DataConfig(train=(str(tmp_path / "train.tsv"),), dev=(str(tmp_path / "dev.tsv"),))
        found = only(check_data(data))
        assert (found.severity, found.kind, found.place) == ("error", "unreadable", "train")
        assert "train.tsv:2: 1 column(s)" in found.text

    def test_test_set_of_a_named_data_set(self, tmp_path: Path) -> None:
        (tmp_path / "low").mkdir()
        for split, count in (("train", 800), ("dev", 100)):
            lines = "".join(f"{split}{n}\ta {n}\n" for n in range(count))
            (tmp_path / "low" / f"ice_{split}.tsv").write_text(lines)
        found = only(check_data(DataConfig(catalogue="sigmorphon2021-g2p-ice", folder=str(tmp_path))))
        assert (found.severity, found.place) == ("warning", "test")


def test_errors_come_first() -> None:
    findings = check([*TRAIN, *DEV, Pair("", "x")], DEV)
    assert [found.severity for found in findings] == ["error", "warning"]


def test_multi30k_has_two_odd_lines_and_a_caption_twice(shared_data: Path) -> None:
    data = DataConfig(catalogue="multi30k-en-de", folder=str(shared_data / "multi30k"))
    findings = check_data(data)
    assert {found.severity for found in findings} == {"warning"}
    assert [(found.kind, found.place) for found in findings] == [
        ("length ratio", "train:16510, 16664"),
        ("overlap", "dev:687"),
    ]
    train = list(readers(data)["train"]())
    assert train[16509].target == "@@"


class TestStatistics:
    def test_by_hand(self) -> None:
        train = [Pair("a bb", "x"), Pair("A  bb", "X"), Pair("", "y z"), Pair("same", "SAME")]
        stats = data_stats(read_splits({"train": lambda: train, "dev": lambda: [Pair("a BB", "q")]}).surveys, 100)
        split = stats.splits[0]
        assert (split.split, split.pairs, split.duplicates, split.same) == ("train", 4, 1, 1)
        source = split.source
        assert (source.words, source.empty, source.distinct, source.alphabet) == (5, 1, 3, 7)
        assert source.word_percentiles == {0: 0, 25: 0, 50: 1, 75: 2, 90: 2, 99: 2, 100: 2}
        assert source.token_percentiles is source.unknown_rate is None
        assert stats.overlaps == [("dev", 1, 1, 0, 0)]
        assert stats.worst_batch is None

    def test_with_tokenizers(self) -> None:
        tokenizers = word_tokenizers([Pair("a b", "x")])
        train = [Pair("a b c", "x"), Pair("a", "x x"), Pair("b", "x")]
        stats = data_stats(read_splits({"train": lambda: train}, tokenizers).surveys, 8)
        source = stats.splits[0].source
        assert source.unknown_rate == pytest.approx(1 / 5)
        assert source.token_percentiles == {0: 1, 25: 1, 50: 1, 75: 3, 90: 3, 99: 3, 100: 3}
        worst = stats.worst_batch  # [a, b] with 2 rows of 3, [a b c] with 1 row of 4
        assert worst == (8, 6, 18, 0)

    @pytest.mark.parametrize("count", [1, 7, 100, 101])
    def test_percentiles(self, count: int) -> None:
        """The smallest length that so many per cent of the lines do not exceed, by definition."""
        rng = random.Random(count)
        lengths = sorted(rng.randrange(50) for _ in range(count))
        for percent, value in percentiles(np.array(lengths)).items():
            assert value == min(x for x in lengths if 100 * sum(y <= x for y in lengths) >= percent * count)

    def test_hashes(self) -> None:
        assert text_hash("Straße  ①") == text_hash(" STRASSE 1")
        assert text_hash("a b") != text_hash("ab")
        assert duplicates(np.array([3, 1, 3, 3], np.uint64)) == 2

    def test_chunks_make_no_difference(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import heedful.data.survey as module

        whole = survey("train", TRAIN, word_tokenizers(TRAIN))
        monkeypatch.setattr(module, "CHUNK", 7)
        pieces = survey("train", iter(TRAIN), word_tokenizers(TRAIN))
        assert np.array_equal(whole.hashes, pieces.hashes)
        assert whole.source.alphabet == pieces.source.alphabet
        assert pieces.source.tokens is not None
        assert pieces.source.tokens.tolist() == [len(pair.source.split()) for pair in TRAIN]


class TestNearDuplicates:
    LONG = "the quick brown fox jumps over the lazy dog while nobody looks at it at all"
    SPLITS = {  # noqa: RUF012
        "train": lambda: [*TRAIN[:50], Pair(TestNearDuplicates.LONG, "x"), Pair("identical in both", "y")],
        "dev": lambda: [
            *DEV[:20],
            Pair(TestNearDuplicates.LONG.replace("fox", "cat"), "x"),
            Pair("identical in both", "z"),
        ],
    }

    def test_found_with_their_likes(self) -> None:
        copy, near = near_duplicates(self.SPLITS, threshold=0.7)
        assert (copy.split, copy.number, copy.train_number, copy.similarity) == ("dev", 21, 51, 1.0)
        assert (near.number, near.train_number) == (20, 50)
        # Both have 73 strings of five characters; the 7 with a letter of "fox" or "cat" in them differ.
        assert near.similarity == pytest.approx((73 - 7) / (73 + 7), abs=0.02)

    def test_exact_copies_are_left_to_the_other_check(self) -> None:
        found = only(near_findings(self.SPLITS, threshold=0.7))
        assert (found.kind, found.place) == ("near-duplicates", "dev:21")
        assert found.text.startswith(
            "1 source(s) nearly in the training data (similarity 0.7 or more): 'the quick brown cat"
        )

    def test_threshold(self) -> None:
        with pytest.raises(ValueError, match=r"`threshold` must be in \(0, 1\], but is 0\.0\."):
            near_duplicates(self.SPLITS, threshold=0.0)
