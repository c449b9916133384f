"""Strings of spoken digits, made of the Free Spoken Digit Dataset: takes of one speaker, one after the other.

No speaker is in two splits. A source line names the files; see `heedful.text.speech` for what is made of them.
"""

import random
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, final

from heedful.data.corpus import Pair
from heedful.datasets.named import DataSet, DataSetFacts
from heedful.errors import ConfigError, HeedfulError

NAME = "fsdd-strings"
REPOSITORY = "https://github.com/Jakobovski/free-spoken-digit-dataset"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SPEAKERS = {"train": ("george", "jackson", "lucas", "nicolas"), "dev": ("theo",), "test": ("yweweler",)}
HELD_OUT = 400  # strings of dev, and of test: each take is in three or four of them
SHORTEST, LONGEST = 3, 5  # digits of a string
TAKE = re.compile(r"(?P<digit>\d)_(?P<speaker>[a-z]+)_\d+\.wav")
ARCHIVE, FOLDER = "recordings.zip", "recordings"


class Recording(NamedTuple):
    """A recording of one digit, and its path as a source line names it."""

    path: str
    digit: int


@final
class DigitStrings(DataSet):
    """Three to five digits by one speaker, spelled out in the target. Each take is used as often as any other."""

    def __init__(self, folder: Path | None, pairs: int) -> None:
        """Prepare the data set; `folder` holds recordings/ or recordings.zip, `pairs` counts the strings of train."""
        self.about = DataSetFacts(
            name=NAME,
            description=f"spoken digits, {SHORTEST} to {LONGEST} in a string: .wav files to words",
            licence="CC BY-SA 4.0 (Jakobovski/free-spoken-digit-dataset)",
            source_language="English speech",
            target_language="English digits",
            splits=tuple(SPEAKERS),
            group="a speaker",
            form="speech",
        )
        self._folder, self._pairs = folder, pairs

    def read(self, split: str) -> Iterable[Pair]:
        self.require(split)
        takes = read_takes(self._found())
        voices = [takes.get(speaker, []) for speaker in SPEAKERS[split]]
        if not all(voices):
            missing = next(speaker for speaker in SPEAKERS[split] if not takes.get(speaker))
            hint = "Files are named DIGIT_SPEAKER_NUMBER.wav, as they are published."
            raise HeedfulError(f"{self._folder} holds no recording of {missing}.", hint=hint)
        return islice(strings(voices, split), self._pairs if split == "train" else HELD_OUT)

    def fetch(self, progress: object = None) -> list[Path]:
        return [self._found()]

    def _found(self) -> Path:
        if self._folder is None:
            hint = f"Clone {REPOSITORY}, and name the clone: data.folder=PATH (or --from PATH)."
            raise ConfigError(f"The data set {NAME} needs a local copy.", hint=hint)
        if len(str(self._folder).split()) != 1:
            hint = "Move it, or make a link to it."
            raise ConfigError(f"The folder {self._folder} has a blank in its name, and source lines cannot.", hint=hint)
        for path in (self._folder / FOLDER, self._folder / ARCHIVE):
            if path.exists():
                return path
        hint = f"Clone {REPOSITORY}, and name the clone."
        raise HeedfulError(f"{self._folder} has neither {FOLDER}/ nor {ARCHIVE}.", hint=hint)


def read_takes(place: Path) -> dict[str, list[Recording]]:
    """Read the takes of each speaker in the order of their names, from a folder or an archive of .wav files."""
    if place.is_dir():
        names = [path.name for path in place.iterdir()]
    else:
        try:
            with zipfile.ZipFile(place) as archive:
                names = archive.namelist()
        except zipfile.BadZipFile as error:
            raise HeedfulError(f"{place} cannot be read: {error}.", hint="Copy it again.") from None
    takes: dict[str, list[Recording]] = {}
    for name in sorted(names):
        if found := TAKE.fullmatch(name.rsplit("/", 1)[-1]):
            takes.setdefault(found["speaker"], []).append(Recording(f"{place}/{name}", int(found["digit"])))
    return takes


def strings(voices: Sequence[Sequence[Recording]], seed: str) -> Iterator[Pair]:
    """Yield endless strings of digits, of each speaker in turn; a function of the takes and the seed."""
    rng = random.Random(f"{NAME} {seed}")
    streams = [_shuffled(voice, rng) for voice in voices]
    while True:
        for stream in streams:
            takes = list(islice(stream, rng.randint(SHORTEST, LONGEST)))
            yield Pair(" ".join(take.path for take in takes), " ".join(WORDS[take.digit] for take in takes))


def _shuffled(takes: Sequence[Recording], rng: random.Random) -> Iterator[Recording]:
    """Yield all takes in a random order, again and again."""
    while True:
        yield from rng.sample(takes, len(takes))
