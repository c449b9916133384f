"""Synthetic tasks of reading: the answer is one word, and where in the source it is decided is known.

Knows nothing of files. Where a source has parts, the word `|||` stands between them. Places are those of words in the
source, from 0, and `|||` counts as a word.
"""

import random
from typing import NamedTuple, final

from heedful.data.corpus import Pair
from heedful.data.task import PART, Links, Task, made_up_words

SENTIMENTS = ("pos", "neg")


@final
class Documents(Task):
    """A document of 5 to 10 sentences, and the sentiment of the one sentence that speaks of the document's topic.

    The first sentence names the topic. One other sentence has the same topic word and two words of sentiment; the rest
    speak of other topics, positively or negatively as it falls. Who counts words of sentiment is right in about 64 of
    100 documents.
    """

    name = "documents"
    description = "5 to 10 sentences to the sentiment of the one that speaks of the topic: decided in a known sentence"
    sides = ("words", "label")

    def __init__(self) -> None:
        words = iter(made_up_words(random.Random("documents"), "ptkmnls", "aiu", 110))
        self._topics, fillers, positive, negative = ([next(words) for _ in range(count)] for count in (6, 60, 20, 20))
        self._fillers, self._sentiment = fillers, {"pos": positive, "neg": negative}

    def pair(self, index: int, seed: int) -> Pair:
        sentences, label, _ = self._document(index, seed)
        return Pair(f" {PART} ".join(sentences), label)

    def decisive(self, index: int, seed: int) -> int:
        """Which sentence of the document decides, from 0; never the first, which only names the topic."""
        return self._document(index, seed)[2]

    def _document(self, index: int, seed: int) -> tuple[list[str], str, int]:
        """The sentences, the label, and which sentence decides."""
        rng = self._rng(index, seed)
        topic = rng.choice(self._topics)
        others = [other for other in self._topics if other != topic]
        label = rng.choice(SENTIMENTS)
        count = rng.randint(5, 10) - 1
        moods = rng.choices(SENTIMENTS, k=count - 1)
        body = [[rng.choice(others), *rng.sample(self._sentiment[mood], 2)] for mood in moods]
        decisive = rng.randint(1, count)
        body.insert(decisive - 1, [topic, *rng.sample(self._sentiment[label], 2)])
        return [self._sentence(rng, words) for words in ([topic], *body)], label, decisive

    def _sentence(self, rng: random.Random, words: list[str]) -> str:
        """The words among up to two fillers, in any order."""
        sentence = words + rng.choices(self._fillers, k=rng.randint(0, 2))
        rng.shuffle(sentence)
        return " ".join(sentence)


class _Phrase(NamedTuple):
    """An adjective and a noun by their numbers."""

    couple: int  # of antonyms
    pole: int  # 0 or 1: which of the two
    kind: int  # of nouns that have a hypernym in common
    noun: int  # within its kind


class _Inference(NamedTuple):
    premise: list[str]
    hypothesis: list[str]
    links: Links  # (place in the premise, place in the hypothesis), in words, in the order of the hypothesis
    label: str


@final
class Inference(Task):
    """Whether a hypothesis follows from a premise, contradicts it or neither, in a made-up language.

    A phrase is an adjective and a noun. Each has a synonym, an adjective has an antonym, three nouns have a hypernym in
    common. The hypothesis rewords one to three phrases of the premise in another order, by synonyms and hypernyms.
    If no more is changed, it is entailed. It contradicts if one adjective of the premise is the antonym of its own, and
    is neutral if one adjective or noun of the premise is unrelated to its own. The hypothesis is drawn before the
    label, and both sides have the same words in the same shares whatever the label, so neither tells anything alone.
    """

    name = "inference"
    description = "premise and hypothesis to entail, neutral or contradict: reworded and reordered, with the alignment"
    sides = ("words", "label")
    labels = ("entail", "neutral", "contradict")

    def __init__(self) -> None:
        words = iter(made_up_words(random.Random("inference"), "ptkmnls", "aiu", 74))
        couples, kinds, nouns, forms = 8, range(6), range(3), range(2)
        self._adjectives = [[[next(words) for _ in forms] for _ in range(2)] for _ in range(couples)]
        self._nouns = [[[next(words) for _ in forms] for _ in nouns] for _ in kinds]
        self._hypernyms = [next(words) for _ in kinds]

    def pair(self, index: int, seed: int) -> Pair:
        premise, hypothesis, _, label = self._inference(index, seed)
        return Pair(" ".join([*premise, PART, *hypothesis]), label)

    def alignment(self, index: int, seed: int) -> Links:
        """(place of a word of the premise, place of the word of the hypothesis that rewords it) in the source.

        Every word of the hypothesis is there once, in its order. The word that contradicts or is unrelated is linked
        to the word that it stands for.
        """
        premise, _, links, _ = self._inference(index, seed)
        return [(place, len(premise) + 1 + position) for place, position in links]

    def _inference(self, index: int, seed: int) -> _Inference:
        rng = self._rng(index, seed)
        count = rng.randint(1, 3)
        total = count + rng.randint(0, 1)
        # One couple and one kind more than there are phrases: the last is for the unrelated word.
        couples = rng.sample(range(len(self._adjectives)), total + 1)
        kinds = rng.sample(range(len(self._nouns)), total + 1)
        premise = [self._draw(rng, couples[place], kinds[place]) for place in range(total)]
        hypothesis = [word for phrase in premise[:count] for word in self._words(rng, phrase, hypernyms=True)]
        label = rng.choice(self.labels)
        place = rng.randrange(count)
        premise[place] = self._changed(rng, premise[place], label, self._draw(rng, couples[total], kinds[total]))
        order = rng.sample(range(total), total)
        words = [word for place in order for word in self._words(rng, premise[place], hypernyms=False)]
        links = [(2 * order.index(place) + side, 2 * place + side) for place in range(count) for side in range(2)]
        return _Inference(words, hypothesis, links, label)

    def _draw(self, rng: random.Random, couple: int, kind: int) -> _Phrase:
        return _Phrase(couple, rng.randrange(2), kind, rng.randrange(len(self._nouns[kind])))

    def _changed(self, rng: random.Random, phrase: _Phrase, label: str, unrelated: _Phrase) -> _Phrase:
        """What the premise says where the hypothesis says `phrase`."""
        if label == "contradict":
            return phrase._replace(pole=1 - phrase.pole)
        if label == "entail":
            return phrase
        if rng.random() < 0.5:
            return phrase._replace(couple=unrelated.couple, pole=unrelated.pole)
        return phrase._replace(kind=unrelated.kind, noun=unrelated.noun)

    def _words(self, rng: random.Random, phrase: _Phrase, *, hypernyms: bool) -> list[str]:
        """An adjective and a noun of these meanings; every third noun may be the hypernym."""
        noun = rng.choice(self._nouns[phrase.kind][phrase.noun])
        if hypernyms and rng.random() < 1 / 3:
            noun = self._hypernyms[phrase.kind]
        return [rng.choice(self._adjectives[phrase.couple][phrase.pole]), noun]


@final
class Keywords(Task):
    """15 to 30 filler words and one or three of 60 keywords; each keyword has a class, and the majority is the answer.

    Were there always three, one class could be told without seeing any of its words: by what of the three is missing.
    """

    name = "keywords"
    description = "15 to 30 fillers and one or three keywords to the class of most of the keywords, in known places"
    sides = ("words", "label")
    classes = ("red", "orange", "yellow", "green", "blue", "violet")

    def __init__(self) -> None:
        words = iter(made_up_words(random.Random("keywords"), "ptkmnls", "aiu", 260))
        self._fillers = [next(words) for _ in range(200)]
        self._keywords = {label: [next(words) for _ in range(10)] for label in self.classes}

    def pair(self, index: int, seed: int) -> Pair:
        """The words, and the class of most of their keywords."""
        words, label, _ = self._text(index, seed)
        return Pair(" ".join(words), label)

    def places(self, index: int, seed: int) -> list[int]:
        """Where the keywords stand, from the first on."""
        return self._text(index, seed)[2]

    def _text(self, index: int, seed: int) -> tuple[list[str], str, list[int]]:
        """The words, the label, and the places of the keywords."""
        rng = self._rng(index, seed)
        label = rng.choice(self.classes)
        labels = [label, label, rng.choice(self.classes)] if rng.random() < 0.5 else [label]
        rng.shuffle(labels)
        words = rng.choices(self._fillers, k=rng.randint(15, 30))
        places = sorted(rng.sample(range(len(words) + len(labels)), len(labels)))
        for place, of in zip(places, labels, strict=True):
            words.insert(place, rng.choice(self._keywords[of]))
        return words, label, places


@final
class Cued(Task):
    """A letter, then nine cells of a letter and a digit in one of three languages: the digit in the letter's cell."""

    name = "cued"
    description = "a letter, then nine cells of a letter and a digit, to the digit in its cell: one known place"
    sides = ("symbols", "label")
    letters = "abcdefghi"
    digits = (  # English, German, Spanish
        ("zero", "null", "cero"),
        ("one", "eins", "uno"),
        ("two", "zwei", "dos"),
        ("three", "drei", "tres"),
        ("four", "vier", "cuatro"),
        ("five", "fünf", "cinco"),
        ("six", "sechs", "seis"),
        ("seven", "sieben", "siete"),
        ("eight", "acht", "ocho"),
        ("nine", "neun", "nueve"),
    )

    def pair(self, index: int, seed: int) -> Pair:
        cue, cells = self._cells(index, seed)
        row = [word for letter, digit, language in cells for word in (letter, self.digits[digit][language])]
        (answer,) = (digit for letter, digit, _ in cells if letter == cue)
        return Pair(" ".join([cue, PART, *row]), str(answer))

    def place(self, index: int, seed: int) -> int:
        """Where the word stands that the answer is read from."""
        cue, cells = self._cells(index, seed)
        return 3 + 2 * [letter for letter, _, _ in cells].index(cue)

    def _cells(self, index: int, seed: int) -> tuple[str, list[tuple[str, int, int]]]:
        """The letter asked for, and letter, digit and language of each cell."""
        rng = self._rng(index, seed)
        letters = rng.sample(self.letters, len(self.letters))
        return rng.choice(letters), [(letter, rng.randrange(10), rng.randrange(3)) for letter in letters]


@final
class Recall(Task):
    """32 keys of 64, each with a value of 32, then one of the keys again: its value."""

    name = "recall"
    description = "32 keys with values, then one of the keys, to its value: one known place among 31 distractors"
    sides = ("symbols", "label")
    pairs = 32

    def pair(self, index: int, seed: int) -> Pair:
        keys, values, asked = self._row(index, seed)
        row = [word for key, value in zip(keys, values, strict=True) for word in (f"k{key}", f"v{value}")]
        return Pair(" ".join([*row, f"k{keys[asked]}"]), f"v{values[asked]}")

    def place(self, index: int, seed: int) -> int:
        """Where the value stands that is asked for."""
        return 2 * self._row(index, seed)[2] + 1

    def _row(self, index: int, seed: int) -> tuple[list[int], list[int], int]:
        """The keys, their values, and which of them is asked for."""
        rng = self._rng(index, seed)
        keys = rng.sample(range(64), self.pairs)
        return keys, [rng.randrange(32) for _ in keys], rng.randrange(self.pairs)
