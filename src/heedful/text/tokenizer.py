"""Text to ids and back: subwords by sentencepiece, characters, and words between blanks; speech has its own file.

Knows nothing of sequences: no tokeniser adds BOS or EOS, and none cuts long text.
"""

import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar, final

import sentencepiece

from heedful.config import read_toml, resolve
from heedful.errors import ConfigError, HeedfulError
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.interface import Tokenizer, content_path, settings_path
from heedful.text.marian_tokenizer import MarianPieceTokenizer
from heedful.text.normalise import BLANK_PIECE
from heedful.text.sampling import Segmenter, segmenter
from heedful.text.speech import SpeechTokenizer
from heedful.text.subwords import train_model
from heedful.text.vocabulary import EOS, SPECIALS, UNK, UNKNOWN, Vocabulary

TRAINING_LINES = 2_000_000  # of a larger corpus so many random lines teach the tokeniser; more cost memory for nothing

T = TypeVar("T")


@final
class SentencePieceTokenizer(Tokenizer):
    """Subwords by unigram language model or byte pair encoding [Kudo 2018; Sennrich 2016], learned by sentencepiece.

    Text is brought to its Unicode form and its runs of white space to single blanks before it is cut. A run of unknown
    characters within a word is one UNK.
    """

    def __init__(self, config: SideConfig, model: bytes) -> None:
        """Load `model`, the content of a sentencepiece model file with the ids of `heedful.text.vocabulary`."""
        super().__init__(config)
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        found = tuple(self._processor.id_to_piece(index) for index in range(len(SPECIALS)))
        if found != SPECIALS:
            raise ValueError(f"`model` must have {' '.join(SPECIALS)} as its first pieces, but has {' '.join(found)}.")
        self._segmenter: Segmenter | None = None

    def encode(self, text: str) -> list[int]:
        return self._processor.encode(self.normalise(text))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return self._processor.encode([self.normalise(text) for text in texts], num_threads=1)

    def pieces(self, text: str) -> list[str]:
        return self._processor.encode(self.normalise(text), out_type=str)

    def decode(self, ids: Sequence[int]) -> str:
        return self.normalise.compose(self._processor.decode(list(ids)))

    def symbol(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise ValueError(f"`index` must be in 0..{len(self) - 1}, but is {index}.")
        return self._processor.id_to_piece(index)

    def sample(self, text: str, seed: int) -> list[int]:
        if not self.samples:
            return self.encode(text)
        if self._segmenter is None:  # its tables are built once, and only where training samples
            model = self._processor
            pieces = [(model.id_to_piece(index), model.get_score(index)) for index in range(len(SPECIALS), len(self))]
            self._segmenter = segmenter(self.config.algorithm, pieces, self.config.sampling)
        return self._segmenter.sample(self.normalise(text), seed)

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def content(self) -> bytes:
        return self._model


class _VocabularyTokenizer(Tokenizer):
    """Base of character and word tokenisers: a text is split into symbols, and a vocabulary numbers them."""

    def __init__(self, config: SideConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config)
        self._vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        return self._vocabulary.ids(self.split(text))

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """Split a text into symbols."""

    def symbol(self, index: int) -> str:
        return self._vocabulary.symbol(index)

    def piece(self, index: int) -> str:
        return _visible(self.symbol(index))

    def pieces(self, text: str) -> list[str]:
        return [_visible(symbol) for symbol in self.split(text)]

    def _symbols(self, ids: Sequence[int]) -> list[str]:
        """Return the symbols of ids, as they stand in decoded text."""
        shown = [index for index in ids if index == UNK or index >= len(SPECIALS)]
        return [UNKNOWN if index == UNK else self._vocabulary.symbol(index) for index in shown]

    def __len__(self) -> int:
        return len(self._vocabulary)

    def content(self) -> bytes:
        return self._vocabulary.to_bytes()


@final
class CharacterTokenizer(_VocabularyTokenizer):
    """Each Unicode code point is a symbol, blanks too."""

    def split(self, text: str) -> list[str]:
        return list(self.normalise(text))

    def decode(self, ids: Sequence[int]) -> str:
        return self.normalise.compose("".join(self._symbols(ids)))


@final
class WordTokenizer(_VocabularyTokenizer):
    """Each run of characters between white space is a symbol: words, or symbols such as phones.

    The word `separator`, where the settings name one, is EOS: it ends a part of the text.
    """

    def encode(self, text: str) -> list[int]:
        ids = super().encode(text)
        if self.config.separator is None:
            return ids
        return [EOS if word == self.config.separator else i for word, i in zip(self.split(text), ids, strict=True)]

    def split(self, text: str) -> list[str]:
        return self.normalise(text).split()

    def decode(self, ids: Sequence[int]) -> str:
        return self.normalise.compose(" ".join(self._symbols(ids)))


def train_tokenizer(config: SideConfig, lines: Iterable[str], seed: int) -> Tokenizer:
    """Learn a tokeniser from lines of text; `seed` chooses lines where there are more than TRAINING_LINES.

    Raises ConfigError where the text cannot fill, or cannot do with, a sentencepiece vocabulary of the size asked for.
    """
    if config.kind == "pieces":
        hint = 'Use kind = "sentencepiece".'
        raise ConfigError('kind = "pieces" is imported with its model, and cannot be learned.', hint=hint)
    if config.kind == "speech":
        return SpeechTokenizer(config)
    text = [line for line in _sample(lines, TRAINING_LINES, seed) if line.strip()]
    if not text:
        hint = "`heedful data check` looks at your files."
        raise HeedfulError("There is no text to learn a tokenizer from: every line is empty.", hint=hint)
    if config.kind == "sentencepiece":
        return SentencePieceTokenizer(config, train_model(config, text))
    kind = CharacterTokenizer if config.kind == "characters" else WordTokenizer
    split = kind(config, Vocabulary([])).split
    counts = Counter(symbol for line in text for symbol in split(line) if symbol != config.separator)
    return kind(config, Vocabulary.from_counts(counts, config.vocab_size))


@final
class Reservoir(Generic[T]):
    """A random sample of items that come one by one, with at most `most` in memory (reservoir sampling)."""

    def __init__(self, most: int, seed: int) -> None:
        self._most, self._rng, self._seen = most, random.Random(seed), 0
        self._chosen: list[tuple[int, T]] = []

    def add(self, item: T) -> None:
        """Take the next item into account."""
        index, self._seen = self._seen, self._seen + 1
        if index < self._most:
            self._chosen.append((index, item))
        elif (place := self._rng.randrange(index + 1)) < self._most:
            self._chosen[place] = (index, item)

    def items(self) -> list[T]:
        """Return all items that came, or a random sample of them, in their order."""
        return [item for _, item in sorted(self._chosen, key=lambda entry: entry[0])]


def _sample(items: Iterable[T], most: int, seed: int) -> list[T]:
    reservoir = Reservoir[T](most, seed)
    for item in items:
        reservoir.add(item)
    return reservoir.items()


def load_tokenizer(folder: Path, name: str) -> Tokenizer:
    """Read what `Tokenizer.save(folder, name)` wrote. Raises HeedfulError where it is missing or damaged."""
    settings = settings_path(folder, name)
    if not settings.exists():
        hint = "Is this the folder of a model?"
        raise HeedfulError(f"{folder} holds no {name} tokenizer ({settings.name} is missing).", hint=hint)
    config: SideConfig = resolve(SideConfig, [read_toml(settings)]).config
    if config.kind == "speech":
        return SpeechTokenizer(config)
    content = content_path(folder, name, config)
    if config.kind in ("characters", "words"):
        kind = CharacterTokenizer if config.kind == "characters" else WordTokenizer
        return kind(config, Vocabulary.from_file(content))
    try:
        if config.kind == "pieces":
            return MarianPieceTokenizer.load(config, content)
        return SentencePieceTokenizer(config, content.read_bytes())
    except FileNotFoundError:
        raise HeedfulError(f"{content} is missing.", hint="Copy the whole folder of the model.") from None
    except (RuntimeError, ValueError) as error:
        hint = "It was changed, or is cut off: take it from the model's own folder again."
        raise HeedfulError(f"{content} is no sentencepiece model of Heedful ({error}).", hint=hint) from None


def _visible(symbol: str) -> str:
    return BLANK_PIECE if symbol == " " else symbol


class Tokenizers(NamedTuple):
    """The tokenisers of both sides; one and the same object where they are joint."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """True where both sides share one vocabulary."""
        return self.source is self.target

    @property
    def samples(self) -> bool:
        """True where training draws segmentations of either side."""
        return self.source.samples or self.target.samples

    def save(self, folder: Path) -> None:
        """Write both into the folder, as "joint" or as "source" and "target", in place of what was there."""
        named = {"joint": self.source} if self.joint else {"source": self.source, "target": self.target}
        for name, tokenizer in named.items():
            tokenizer.save(folder, name)
        for name in {"joint", "source", "target"} - named.keys():
            settings_path(folder, name).unlink(missing_ok=True)


def load_tokenizers(folder: Path) -> Tokenizers:
    """Read what `Tokenizers.save` wrote."""
    if settings_path(folder, "joint").exists():
        joint = load_tokenizer(folder, "joint")
        return Tokenizers(joint, joint)
    return Tokenizers(load_tokenizer(folder, "source"), load_tokenizer(folder, "target"))


def train_tokenizers(config: TokenizerConfig, pairs: Iterable[tuple[str, str]], seed: int) -> Tokenizers:
    """Learn the tokenisers of a corpus from one pass over its (source, target) pairs; see `train_tokenizer`."""
    sample = _sample(pairs, TRAINING_LINES, seed)
    if config.joint:
        joint = train_tokenizer(config.source, (line for pair in sample for line in pair), seed)
        return Tokenizers(joint, joint)
    source = train_tokenizer(config.source, (line for line, _ in sample), seed)
    return Tokenizers(source, train_tokenizer(config.target or config.source, (line for _, line in sample), seed))
