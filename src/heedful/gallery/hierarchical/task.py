"""A made task of documents: one sentence decides, and which one is known. Knows nothing of files."""

import random
from typing import final

from heedful.data.corpus import Pair
from heedful.datasets.synthetic import PART, SyntheticTask, made_up_words

SENTIMENTS = ("pos", "neg")


@final
class Documents(SyntheticTask):
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
        """Return which sentence of the document decides, from 0; never the first, which only names the topic."""
        return self._document(index, seed)[2]

    def _document(self, index: int, seed: int) -> tuple[list[str], str, int]:
        """Make the sentences, the label, and the index of the sentence that decides."""
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
        """Make a sentence of the words among up to two fillers, in any order."""
        sentence = words + rng.choices(self._fillers, k=rng.randint(0, 2))
        rng.shuffle(sentence)
        return " ".join(sentence)
