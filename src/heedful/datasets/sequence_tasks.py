"""Synthetic tasks that differ in how target and source go together in time, or in what a target's words depend on.

`tagged`: place by place. `squeezed`: in the same order, at a pace of its own. (`reverse`: in another order.)
`articles`: a word must agree with a word chosen before. Knows nothing of files.
"""

from typing import ClassVar, final

from heedful.data.corpus import Pair
from heedful.datasets.synthetic import Links, SyntheticTask

SILENCE = "_"


@final
class TaggedTask(SyntheticTask):
    """Letters to as many tags: a vowel is a nucleus, a consonant before a vowel an onset, every other one a coda."""

    name = "tagged"
    description = "4 to 16 letters to as many tags, each by its letter and the next one"
    sides = ("symbols", "tags")
    vowels, consonants = "aeiou", "bdfgklmnt"

    def pair(self, index: int, seed: int) -> Pair:
        rng = self._rng(index, seed)
        letters = rng.choices(self.vowels + self.consonants, k=rng.randint(4, 16))
        return Pair(" ".join(letters), " ".join(self.answer(letters)))

    def answer(self, letters: list[str]) -> list[str]:
        """Return the tag of each letter."""
        return [self._tag(letter, following) for letter, following in zip(letters, [*letters[1:], ""], strict=True)]

    def _tag(self, letter: str, following: str) -> str:
        if letter in self.vowels:
            return "nucleus"
        return "onset" if following and following in self.vowels else "coda"


@final
class Squeezed(SyntheticTask):
    """Frames to the letters that they are of, each once.

    A letter lasts one to four frames, each of one of its three sounds (a1, a2, a3). Between letters there may be one or
    two frames of silence (_), and there always are between equal ones, so that the frames determine the letters.
    """

    name = "squeezed"
    description = "frames with three sounds a letter, repeats and silence, to the 3 to 8 letters behind them"
    letters = "abcdefghijkl"

    def pair(self, index: int, seed: int) -> Pair:
        frames, letters, _ = self._frames(index, seed)
        return Pair(" ".join(frames), " ".join(letters))

    def alignment(self, index: int, seed: int) -> Links:
        """Link each frame that is no silence to its letter, in the order of the frames; both from 0."""
        return self._frames(index, seed)[2]

    def _frames(self, index: int, seed: int) -> tuple[list[str], list[str], Links]:
        rng = self._rng(index, seed)
        letters = rng.choices(self.letters, k=rng.randint(3, 8))
        frames: list[str] = []
        links: Links = []
        for place, letter in enumerate(letters):
            if place and (letter == letters[place - 1] or rng.random() < 0.3):
                frames += [SILENCE] * rng.randint(1, 2)
            sounds = [f"{letter}{rng.randint(1, 3)}" for _ in range(rng.randint(1, 4))]
            links += [(len(frames) + frame, place) for frame in range(len(sounds))]
            frames += sounds
        return frames, letters, links


@final
class Articles(SyntheticTask):
    """Letters to an article and a word a letter; the article is free, and all words must agree with it.

    Words end in r after `el`, in s after `la` and `lo`. The article is `el` in two fifths of the pairs and each of the
    others in three tenths, whatever the source. So `el` is the likeliest article, but s the likelier ending: a decoder
    that does not know which article it wrote has no right answer in reach, not even by luck.
    """

    name = "articles"
    description = "3 to 8 letters to an article of three, all right, and words that agree with the one chosen"
    endings: ClassVar[dict[str, str]] = {"el": "r", "la": "s", "lo": "s"}
    shares = (4, 3, 3)
    letters = "abcdefghijklmnopqrst"

    def pair(self, index: int, seed: int) -> Pair:
        rng = self._rng(index, seed)
        letters = rng.choices(self.letters, k=rng.randint(3, 8))
        (article,) = rng.choices(list(self.endings), self.shares)
        return Pair(" ".join(letters), self._written(letters, article))

    def references(self, source: str, target: str) -> list[str]:
        """Return the target, then the two with the other articles."""
        others = [self._written(source.split(), article) for article in self.endings]
        return [target, *(other for other in others if other != target)]

    def _written(self, letters: list[str], article: str) -> str:
        return " ".join([article, *(letter + self.endings[article] for letter in letters)])
