"""Recorded speech as ids: a line names .wav files, each frame of their sound is so many numbers, each number an id.

Knows no model and no vocabulary: nothing is learned. Features are those of Kaldi, by the package kaldi-native-fbank.
"""

import io
import wave
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from heedful.config import to_toml
from heedful.errors import HeedfulError
from heedful.text.atomic_files import write_text
from heedful.text.interface import Tokenizer, settings_path
from heedful.text.vocabulary import SPECIALS

PACKAGE = "kaldi-native-fbank"
SHIFT = 0.01  # seconds from the start of a frame to that of the next; a frame is 25 milliseconds long
LEVELS = 256  # of each number, from LOWEST to HIGHEST
LOWEST, HIGHEST = -16.0, 12.0  # ln energy in a band of samples in -1..1: of silence, and of the loudest sound
SAMPLE_BYTES = 2  # of 16-bit samples
LOUDEST = 1 << 15  # of these

Samples = NDArray[np.float32]


class Sound(NamedTuple):
    """Samples in -1..1, one channel."""

    samples: Samples
    rate: int  # a second


@final
class SpeechTokenizer(Tokenizer):
    """Log energies in `frame_width` mel bands, every 10 milliseconds, at 256 levels; the lowest is the first id.

    A line names one or more .wav files of 16-bit samples, with blanks between; their sounds are joined, their channels
    averaged. A file in a .zip archive is named as if that were a folder. The bands reach up to `highest_frequency`
    whatever the rate of the samples, so that recordings at different rates are alike.
    """

    def encode(self, text: str) -> list[int]:
        """Return the levels of all frames, one frame after the other. Raises HeedfulError that names the file."""
        names = text.split()
        if not names:
            return []
        sound = _joined([(name, _read(Path(name))) for name in names])
        if 2 * self.config.highest_frequency > sound.rate:
            message = f"{names[0]} has {sound.rate:,} samples a second, too few for the bands of this tokenizer."
            needed = 2 * self.config.highest_frequency
            hint = f"It needs {needed:,}, twice the tokenizer's highest_frequency."
            raise HeedfulError(message, hint=hint)
        energies = _log_mel(sound, self.config.frame_width, self.config.highest_frequency)
        levels = np.rint((energies - LOWEST) * ((LEVELS - 1) / (HIGHEST - LOWEST)))
        return (levels.clip(0, LEVELS - 1).astype(np.int64) + len(SPECIALS)).ravel().tolist()

    def pieces(self, text: str) -> list[str]:
        """Return the start time of the frame of each number."""
        return [f"{number // self.config.frame_width * SHIFT:.2f}s" for number in range(len(self.encode(text)))]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the duration of the sound: it cannot be shown as text."""
        numbers = sum(index >= len(SPECIALS) for index in ids)
        return f"{numbers // self.config.frame_width * SHIFT:.2f}s"

    def symbol(self, index: int) -> str:
        """Return the level, from 0."""
        if not 0 <= index < len(self):
            raise ValueError(f"`index` must be in 0..{len(self) - 1}, but is {index}.")
        return SPECIALS[index] if index < len(SPECIALS) else str(index - len(SPECIALS))

    def __len__(self) -> int:
        return len(SPECIALS) + LEVELS

    def content(self) -> bytes:
        return f"{self.config.frame_width} {self.config.highest_frequency}\n".encode()

    def save(self, folder: Path, name: str) -> None:
        """Write `tokenizer.NAME.toml`: there is nothing else to keep."""
        write_text(settings_path(folder, name), to_toml(self.config))


def _joined(sounds: Sequence[tuple[str, Sound]]) -> Sound:
    """Concatenate sounds."""
    first, (_, rate) = sounds[0]
    for name, sound in sounds:
        if sound.rate != rate:
            message = f"{name} has {sound.rate:,} samples a second, but {first} has {rate:,}: they cannot be joined."
            raise HeedfulError(message, hint=f"Convert one of them: sox {name} -r {rate} NEW.wav")
    return Sound(np.concatenate([sound.samples for _, sound in sounds]), rate)


def _read(path: Path) -> Sound:
    """Read a .wav file, its channels averaged."""
    try:
        with wave.open(io.BytesIO(_content(path))) as file:
            width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            promised = file.getnframes()
            raw = file.readframes(promised)
    except (wave.Error, EOFError) as error:
        hint = f"Convert it: sox {path} -b 16 -e signed-integer NEW.wav"
        why = str(error) or "it is cut off"
        raise HeedfulError(f"{path} is no .wav file that can be read: {why}.", hint=hint) from None
    if width != SAMPLE_BYTES:
        hint = f"Convert it: sox {path} -b 16 NEW.wav"
        raise HeedfulError(f"{path} has samples of {8 * width} bits, but 16 are needed.", hint=hint)
    if len(raw) < promised * width * channels:
        there = f"it promises {promised:,} samples and has {len(raw) // (width * channels):,}"
        raise HeedfulError(
            f"{path} is cut off: {there}.", hint=f"Copy it again, or: sox --ignore-length {path} NEW.wav"
        )
    samples = np.frombuffer(raw[: len(raw) // (width * channels) * width * channels], "<i2").astype(np.float32)
    return Sound(samples.reshape(-1, channels).mean(axis=1) / LOUDEST, rate)


def _content(path: Path) -> bytes:
    """Read the bytes of a file, which may be in a .zip archive."""
    try:
        if archive := next((parent for parent in path.parents if parent.suffix == ".zip" and parent.is_file()), None):
            return _archive(archive, archive.stat().st_mtime_ns).read(path.relative_to(archive).as_posix())
        return path.read_bytes()
    except KeyError:
        raise HeedfulError(f"There is no recording {path}: the archive does not hold it.") from None
    except zipfile.BadZipFile as error:
        raise HeedfulError(f"{path} cannot be read: {error}.", hint="Copy the archive again.") from None
    except OSError as error:
        hint = "A source line names .wav files, with blanks between them."
        raise HeedfulError(f"There is no recording {path}: {error.strerror}.", hint=hint) from None


@lru_cache(maxsize=4)
def _archive(path: Path, _changed: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def _log_mel(sound: Sound, bands: int, highest: int) -> NDArray[np.float32]:
    """Compute [F bands]: ln of the energy in each band of each frame; a frame that the end cuts off
    is mirrored there.
    """
    package = _package()
    options = package.FbankOptions()
    options.frame_opts.samp_freq = float(sound.rate)
    options.frame_opts.dither = 0.0  # no noise is added: the same sound gives the same ids
    options.frame_opts.snip_edges = False
    options.mel_opts.num_bins = bands
    options.mel_opts.high_freq = float(highest)
    computer = package.OnlineFbank(options)
    computer.accept_waveform(float(sound.rate), sound.samples.tolist())
    computer.input_finished()
    frames = [computer.get_frame(number) for number in range(computer.num_frames_ready)]
    return np.stack(frames) if frames else np.zeros((0, bands), np.float32)


def _package() -> Any:
    try:
        import kaldi_native_fbank
    except ImportError:
        hint = 'Install it (0.5 MB): pip install "heedful[speech]"'
        raise HeedfulError(f"Speech needs the package {PACKAGE}, which is not installed.", hint=hint) from None
    return kaldi_native_fbank
