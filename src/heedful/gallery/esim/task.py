"""A made task of inference: premise and hypothesis, with the alignment of their words. Knows nothing of files."""

import random
from typing import NamedTuple, final

from heedful.data.corpus import Pair
from heedful.datasets.synthetic import PART, Links, SyntheticTask, made_up_words


class _Phrase(NamedTuple):
    """An adjective and a noun by their numbers."""

    couple: int  # of antonyms
    pole: int  # 0 or 1: which of the two
    kind: int  # of nouns that have a hypernym in common
    noun: int  # within its kind


class _Inference(NamedTuple):
    premise: list[str]
    hypothesis: list[str]
    links: Links  # (position in the premise, position in the hypothesis), in words, in the order of the hypothesis
    label: str


@final
class Inference(SyntheticTask):
    """Task: does a hypothesis follow from a premise, contradict it, or neither, in a made-up language?

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
        """Link (position of a word of the premise, position of the word of the hypothesis that rewords it) in the
        source.

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
        """Return the premise's phrase where the hypothesis has `phrase`."""
        if label == "contradict":
            return phrase._replace(pole=1 - phrase.pole)
        if label == "entail":
            return phrase
        if rng.random() < 0.5:
            return phrase._replace(couple=unrelated.couple, pole=unrelated.pole)
        return phrase._replace(kind=unrelated.kind, noun=unrelated.noun)

    def _words(self, rng: random.Random, phrase: _Phrase, *, hypernyms: bool) -> list[str]:
        """Return an adjective and a noun of these meanings; every third noun may be the hypernym."""
        noun = rng.choice(self._nouns[phrase.kind][phrase.noun])
        if hypernyms and rng.random() < 1 / 3:
            noun = self._hypernyms[phrase.kind]
        return [rng.choice(self._adjectives[phrase.couple][phrase.pole]), noun]
