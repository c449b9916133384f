"""Tagging, squeezing, agreement and reviews: by hand, and what each task is there to tell apart."""

import re
from collections import Counter
from itertools import groupby, pairwise

from heedful.data.config import DataConfig
from heedful.datasets.sequence_tasks import Articles, Squeezed, TaggedTask
from heedful.datasets.synthetic import task_pairs
from heedful.gallery.coupled.task import ADJECTIVES, DEGREES, NOUNS, OTHERS, Reviews
from heedful.recipe import splits
from heedful.recipe.tables import TASKS

SEED = 5
MANY = range(600)


def test_tagged_by_hand() -> None:
    assert TaggedTask().answer(list("bandit")) == ["onset", "nucleus", "coda", "onset", "nucleus", "coda"]
    assert TaggedTask().answer(["a"]) == ["nucleus"]
    for index in MANY:
        pair = TaggedTask().pair(index, SEED)
        assert pair.target.split() == TaggedTask().answer(pair.source.split())


class TestSqueezed:
    TASK = Squeezed()

    def test_frames_determine_the_letters(self) -> None:
        """Equal neighbours become one, then silence goes, as CTC collapses a path [Graves 2006]."""
        repeated = 0
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            collapsed = [letter for letter, _ in groupby(frame[0] for frame in pair.source.split())]
            assert [letter for letter in collapsed if letter != "_"] == pair.target.split()
            letters = pair.target.split()
            repeated += any(a == b for a, b in pairwise(letters))
        assert repeated > 50

    def test_alignment(self) -> None:
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            frames, letters = pair.source.split(), pair.target.split()
            links = self.TASK.alignment(index, SEED)
            assert [frame for frame, _ in links] == [place for place, frame in enumerate(frames) if frame != "_"]
            assert all(frames[frame][0] == letters[place] for frame, place in links)
            places = [place for _, place in links]
            assert places == sorted(places)
            assert set(places) == set(range(len(letters)))


class TestArticles:
    TASK = Articles()

    def test_three_right_targets(self) -> None:
        assert set(self.TASK.references("b a", "la bs as")) == {"el br ar", "la bs as", "lo bs as"}
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            right = self.TASK.references(*pair)
            assert right[0] == pair.target
            assert len(set(right)) == 3

    def test_the_likeliest_words_one_by_one_make_no_right_target(self) -> None:
        """What a decoder without feedback writes: the likeliest word of each place, by counts over all sources."""
        pairs = [self.TASK.pair(index, SEED) for index in range(3000)]
        article = Counter(pair.target.split()[0] for pair in pairs).most_common(1)[0][0]
        ending = Counter(word[-1] for pair in pairs for word in pair.target.split()[1:]).most_common(1)[0][0]
        for pair in pairs[:100]:
            written = " ".join([article, *(letter + ending for letter in pair.source.split())])
            assert written not in self.TASK.references(*pair)

    def test_references_of_the_data_set(self) -> None:
        data = DataConfig(catalogue="articles", pairs=20)
        pairs, references = splits.load_split(data, "dev"), splits.load_references(data, "dev")
        assert all(right == self.TASK.references(*pair) for pair, right in zip(pairs, references, strict=True))
        assert len(references) == 1000


class TestReviews:
    TASK = Reviews()

    def test_by_the_rule(self) -> None:
        """Clause by clause, from the words alone."""
        spans: Counter[str] = Counter()
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            words, tags = pair.source.split(), pair.target.split()
            assert len(words) == len(tags)
            for clause in self._clauses(words, tags):
                text = " ".join(word for word, _ in clause)
                is_a = dict(clause)
                said = bool(re.search(r"^we had (?!the )|^the .* (was|were) ", text))
                nouns = [word for word in is_a if word in NOUNS]
                if said and nouns:
                    assert all(is_a[word].endswith("-target") for word in nouns)
                    assert all(is_a[word].endswith("-expression") for word in is_a if word in ADJECTIVES + DEGREES)
                else:
                    assert set(is_a.values()) == {"O"}
                spans.update(tag for _, tag in clause)
        assert min(spans[tag] for tag in ("B-target", "I-target", "B-expression", "I-expression")) > 100

    def test_the_same_words_are_nothing_elsewhere(self) -> None:
        """Nouns and adjectives are O in a good share of their places, also where both stand in one clause."""
        counts: Counter[tuple[str, str]] = Counter()
        both = 0
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            words, tags = pair.source.split(), pair.target.split()
            for word, tag in zip(words, tags, strict=True):
                counts[("noun" if word in NOUNS else "adjective" if word in ADJECTIVES else "", tag[-1:])] += 1
            both += any(
                set(NOUNS) & {word for word, _ in clause}
                and set(OTHERS) & {word for word, _ in clause}
                and set(ADJECTIVES) & {word for word, _ in clause}
                for clause in self._clauses(words, tags)
            )
        assert 0.2 < counts["noun", "O"] / (counts["noun", "O"] + counts["noun", "t"]) < 0.8
        assert 0.2 < counts["adjective", "O"] / (counts["adjective", "O"] + counts["adjective", "n"]) < 0.8
        assert both > 100

    def test_held_out_words(self) -> None:
        assert len(self.TASK.held_out) == len(NOUNS) // 4 + len(ADJECTIVES) // 4
        for split in ("train", "dev", "test"):
            pairs = list(task_pairs(TASKS["reviews"], SEED, split, 500))
            unseen = sum(bool(self.TASK.held_out & set(pair.source.split())) for pair in pairs)
            assert unseen == 0 if split == "train" else 150 < unseen < 350

    def _clauses(self, words: list[str], tags: list[str]) -> list[list[tuple[str, str]]]:
        """Apart at commas and the like, and at an `and` that does not stand between two nouns with `the`."""
        clauses: list[list[tuple[str, str]]] = [[]]
        for place, (word, tag) in enumerate(zip(words, tags, strict=True)):
            before = " ".join(words[:place]).split("the ")[-1].split()
            joins = word == "and" and words[place + 1] == "the" and before and set(before) <= set(NOUNS)
            if word in {",", ";", "but", "."} or (word == "and" and not joins):
                clauses.append([])
            else:
                clauses[-1].append((word, tag))
        return [clause for clause in clauses if clause]
