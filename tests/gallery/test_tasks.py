"""Reading tasks: each label is what the stated rule says of the source, its truth is right, and no short cut helps."""

from collections import Counter, defaultdict

from heedful.datasets.synthetic import PART
from heedful.gallery.esim.task import Inference
from heedful.gallery.hierarchical.task import Documents
from heedful.gallery.pooling.task import Cued, KeywordTask
from heedful.gallery.top_k.task import Recall

SEED = 5
MANY = range(600)


class TestDocuments:
    TASK = Documents()

    def test_the_decisive_sentence_alone_has_topic_and_sentiment(self) -> None:
        topics, moods = self._topics(), self._moods()
        lengths = set()
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            sentences = [sentence.split() for sentence in pair.source.split(f" {PART} ")]
            lengths.add(len(sentences))
            (topic,) = topics & set(sentences[0])
            assert not moods.keys() & set(sentences[0])
            (decisive,) = [place for place, words in enumerate(sentences) if place and topic in words]
            assert decisive == self.TASK.decisive(index, SEED)
            found = [moods[word] for word in sentences[decisive] if word in moods]
            assert found == [pair.target] * 2
            assert all(len(topics & set(words)) == 1 for words in sentences)
        assert lengths == set(range(5, 11))

    def test_words_counted_say_little(self) -> None:
        """The more frequent sentiment, and any where both are alike, is the label in 60 to 68 of 100 documents."""
        moods = self._moods()
        right = 0.0
        for index in range(2000):
            pair = self.TASK.pair(index, SEED)
            count = Counter(moods[word] for word in pair.source.split() if word in moods)
            right += 0.5 if count["pos"] == count["neg"] else max(("pos", "neg"), key=count.__getitem__) == pair.target
        assert 1200 < right < 1360

    def test_neither_label_nor_place_is_favoured(self) -> None:
        labels = Counter(self.TASK.pair(index, SEED).target for index in range(2000))
        assert all(abs(count - 1000) < 100 for count in labels.values())  # 4.5 standard deviations
        assert {self.TASK.decisive(index, SEED) for index in range(2000)} == set(range(1, 10))

    def _topics(self) -> set[str]:
        return set(self.TASK._topics)

    def _moods(self) -> dict[str, str]:
        return {word: mood for mood, words in self.TASK._sentiment.items() for word in words}


class TestInference:
    TASK = Inference()

    def test_label_by_the_rule(self) -> None:
        """Word by word along the alignment: at most one word differs in meaning, and that makes the label."""
        adjectives = {
            word: (couple, pole)
            for couple, poles in enumerate(self.TASK._adjectives)
            for pole, forms in enumerate(poles)
            for word in forms
        }
        nouns = {
            word: (kind, noun)
            for kind, members in enumerate(self.TASK._nouns)
            for noun, forms in enumerate(members)
            for word in forms
        }
        hypernyms = {word: kind for kind, word in enumerate(self.TASK._hypernyms)}
        assert len(adjectives) + len(nouns) + len(hypernyms) == 74

        def relation(premise: str, hypothesis: str) -> str:
            if hypothesis in adjectives:
                (couple, pole), (other, pole_of_other) = adjectives[hypothesis], adjectives[premise]
                return "neutral" if couple != other else "entail" if pole == pole_of_other else "contradict"
            if hypothesis in hypernyms:
                return "entail" if nouns[premise][0] == hypernyms[hypothesis] else "neutral"
            same_kind = nouns[premise][0] == nouns[hypothesis][0]
            assert same_kind == (nouns[premise] == nouns[hypothesis])
            return "entail" if same_kind else "neutral"

        seen = set()
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            words = pair.source.split()
            links = self.TASK.alignment(index, SEED)
            assert [place for _, place in links] == list(range(words.index(PART) + 1, len(words)))
            relations = [relation(words[place], words[of]) for place, of in links]
            changed = [found for found in relations if found != "entail"]
            assert changed == ([] if pair.target == "entail" else [pair.target])
            seen.add(pair.target)
        assert seen == {"entail", "neutral", "contradict"}

    def test_phrases_stay_together_in_another_order(self) -> None:
        moved = 0
        for index in MANY:
            places = [place for place, _ in self.TASK.alignment(index, SEED)]
            assert all(noun == adjective + 1 for adjective, noun in zip(places[::2], places[1::2], strict=True))
            moved += places != sorted(places)
        assert moved > len(MANY) / 3

    def test_neither_side_tells_the_label(self) -> None:
        """A word votes with its share of each label in other pairs: no better than chance, on either side."""
        pairs = [self.TASK.pair(index, SEED) for index in range(6000)]
        for side in (0, 1):
            votes: dict[str, Counter[str]] = {}
            for pair in pairs[:4000]:
                for word in pair.source.split(f" {PART} ")[side].split():
                    votes.setdefault(word, Counter())[pair.target] += 1
            right = 0
            for pair in pairs[4000:]:
                total: dict[str, float] = defaultdict(float)
                for word in pair.source.split(f" {PART} ")[side].split():
                    for label, count in votes.get(word, Counter()).items():
                        total[label] += count / sum(votes[word].values())
                right += max(total, key=total.__getitem__) == pair.target
            assert abs(right / 2000 - 1 / 3) < 0.05  # 4.7 standard deviations


class TestKeywords:
    TASK = KeywordTask()

    def test_majority_of_the_keywords(self) -> None:
        classes = {word: label for label, words in self.TASK._keywords.items() for word in words}
        assert len(classes) == 60
        patterns = set()
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            words = pair.source.split()
            assert 16 <= len(words) <= 33
            places = [place for place, word in enumerate(words) if word in classes]
            assert places == self.TASK.positions(index, SEED)
            (label, most), *_ = Counter(classes[words[place]] for place in places).most_common()
            assert label == pair.target
            patterns.add((len(places), most))
        assert patterns == {(1, 1), (3, 2), (3, 3)}


class TestCued:
    TASK = Cued()

    def test_digit_in_the_cell_of_the_cue(self) -> None:
        meaning = {word: str(digit) for digit, words in enumerate(self.TASK.digits) for word in words}
        assert len(meaning) == 30
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            cue, part, *row = pair.source.split()
            assert part == PART
            assert sorted(row[::2]) == list("abcdefghi")
            answer = dict(zip(row[::2], row[1::2], strict=True))[cue]
            assert pair.target == meaning[answer]
            place = self.TASK.position(index, SEED)
            assert pair.source.split()[place - 1 : place + 1] == [cue, answer]


class TestRecall:
    TASK = Recall()

    def test_value_of_the_key(self) -> None:
        for index in MANY:
            pair = self.TASK.pair(index, SEED)
            *row, cue = pair.source.split()
            values = dict(zip(row[::2], row[1::2], strict=True))
            assert len(values) == 32
            assert values[cue] == pair.target
            place = self.TASK.position(index, SEED)
            assert row[place - 1 : place + 1] == [cue, pair.target]
