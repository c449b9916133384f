"""Speech as ids: the features by a sum of one's own, files joined and zipped, and what is wrong with a recording."""

import builtins
import math
import wave
import zipfile
from pathlib import Path

import numpy as np
import pytest

from heedful.errors import HeedfulError
from heedful.text.config import SideConfig, TokenizerConfig
from heedful.text.speech import HIGHEST, LEVELS, LOWEST, SpeechTokenizer
from heedful.text.tokenizer import load_tokenizer, train_tokenizer
from heedful.text.vocabulary import SPECIALS

RATE = 8000
SPEECH = SideConfig(kind="speech", frame_width=20)


def tone(hertz: float, seconds: float = 0.3, *, rate: int = RATE, loudness: float = 0.3) -> np.ndarray:
    """Samples of a sine, in -1..1."""
    return loudness * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)


def write(path: Path, samples: np.ndarray, *, rate: int = RATE, width: int = 2, channels: int = 1) -> str:
    """A .wav file; the name of it."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes((samples * 32767).astype("<i2").tobytes() if width == 2 else bytes(len(samples) * width))
    return str(path)


@pytest.fixture
def tokenizer() -> SpeechTokenizer:
    pytest.importorskip("kaldi_native_fbank")
    return SpeechTokenizer(SPEECH)


def frames(tokenizer: SpeechTokenizer, line: str) -> np.ndarray:
    """Levels [F W]."""
    return np.array(tokenizer.encode(line)).reshape(-1, SPEECH.frame_width) - len(SPECIALS)


def mel(hertz: float) -> float:
    return 1127 * math.log(1 + hertz / 700)


class TestSound:
    @pytest.mark.parametrize("hertz", [300, 1000, 2500])
    def test_a_tone_is_in_its_band(self, tokenizer: SpeechTokenizer, tmp_path: Path, hertz: float) -> None:
        """Triangles are at equal distances on the mel scale from 20 Hz to the highest frequency."""
        levels = frames(tokenizer, write(tmp_path / "a.wav", tone(hertz)))
        distance = (mel(4000) - mel(20)) / (SPEECH.frame_width + 1)
        expected = (mel(hertz) - mel(20)) / distance - 1
        assert abs(int(levels.mean(axis=0).argmax()) - expected) <= 1

    def test_the_energy_of_a_tone(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        """One frame by numpy: no mean, pre-emphasis, window, power spectrum, triangles, logarithm, levels."""
        samples = (tone(1000) * 32767).astype("<i2") / 32768  # as the file has them
        levels = frames(tokenizer, write(tmp_path / "a.wav", tone(1000)))
        start = 10 * 80 + 40 - 100  # the middle of frame 10 is 10 shifts and a half from the start
        frame = samples[start : start + 200]
        frame = frame - frame.mean()
        frame = frame - 0.97 * np.concatenate([frame[:1], frame[:-1]])
        window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(200) / 199)) ** 0.85
        power = np.abs(np.fft.rfft(frame * window, 256)) ** 2
        hertz = np.arange(129) * RATE / 256
        scale = np.array([mel(one) for one in hertz])
        edges = np.linspace(mel(20), mel(4000), SPEECH.frame_width + 2)
        for band in range(SPEECH.frame_width):
            left, middle, right = edges[band : band + 3]
            triangle = np.minimum((scale - left) / (middle - left), (right - scale) / (right - middle)).clip(0)
            energy = math.log(max(float(triangle[:-1] @ power[:-1]), 1.2e-7))
            expected = (energy - LOWEST) / (HIGHEST - LOWEST) * (LEVELS - 1)
            assert abs(levels[10, band] - expected) <= 1

    def test_louder_is_higher_everywhere(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        noise = np.random.default_rng(1).uniform(-0.1, 0.1, 2400)
        quiet = frames(tokenizer, write(tmp_path / "a.wav", noise))
        loud = frames(tokenizer, write(tmp_path / "b.wav", 4 * noise))
        by = 2 * math.log(4) / (HIGHEST - LOWEST) * (LEVELS - 1)
        assert np.abs(loud - quiet - by).max() < 2

    def test_a_hundred_frames_a_second(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        assert len(frames(tokenizer, write(tmp_path / "a.wav", tone(400, 0.5)))) == 50

    def test_files_are_joined(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        one, two = tone(400, 0.2), tone(1500, 0.25)
        names = write(tmp_path / "a.wav", one), write(tmp_path / "b.wav", two)
        whole = write(tmp_path / "whole.wav", np.concatenate([one, two]))
        assert tokenizer.encode(" ".join(names)) == tokenizer.encode(whole)
        assert tokenizer.encode("  ") == []

    def test_two_channels_are_averaged(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        one, two = np.random.default_rng(1).uniform(-0.3, 0.3, (2, 2400))
        both = write(tmp_path / "both.wav", np.stack([one, two], axis=1).ravel(), channels=2)
        mean = write(tmp_path / "mean.wav", (one + two) / 2)
        assert np.abs(frames(tokenizer, both) - frames(tokenizer, mean)).max() <= 1

    @pytest.mark.parametrize("channels", [1, 2])
    def test_a_file_that_is_cut_off(self, tokenizer: SpeechTokenizer, tmp_path: Path, channels: int) -> None:
        """Behind its header, or in the middle; the header still says how long it was."""
        name = write(tmp_path / "a.wav", tone(400, 0.2), channels=channels)
        whole, samples = Path(name).read_bytes(), 1600 // channels
        for there in (0, samples // 2):
            Path(name).write_bytes(whole[: 44 + there * 2 * channels])
            with pytest.raises(
                HeedfulError, match=f"cut off: it promises {samples:,} samples and has {there:,}"
            ) as caught:
                tokenizer.encode(name)
            assert "Copy it again" in str(caught.value.hint)

    def test_rates_are_alike(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        """A tone is in the same band whatever the rate of its samples."""
        for name, rate in (("a", 8000), ("b", 16_000), ("c", 44_100)):
            levels = frames(tokenizer, write(tmp_path / f"{name}.wav", tone(1000, rate=rate), rate=rate))
            assert abs(int(levels.mean(axis=0).argmax()) - 8) <= 1

    def test_nearly_nothing_is_no_frame(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        assert tokenizer.encode(write(tmp_path / "a.wav", np.zeros(5))) == []

    def test_silence_is_the_lowest_level(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        assert frames(tokenizer, write(tmp_path / "a.wav", np.zeros(1600))).max() <= 1

    def test_in_an_archive(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        name = write(tmp_path / "a.wav", tone(700))
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            archive.write(name, "inner/a.wav")
        assert tokenizer.encode(str(tmp_path / "all.zip" / "inner" / "a.wav")) == tokenizer.encode(name)
        with pytest.raises(HeedfulError, match=r"no recording .*all\.zip/b\.wav: the archive does not hold it"):
            tokenizer.encode(str(tmp_path / "all.zip" / "b.wav"))


class TestIds:
    def test_as_a_reader_sees_them(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        name = write(tmp_path / "a.wav", tone(700, 0.03))
        ids = tokenizer.encode(name)
        assert tokenizer.pieces(name) == ["0.00s"] * 20 + ["0.01s"] * 20 + ["0.02s"] * 20
        assert tokenizer.decode([2, *ids, 3, 0]) == "0.03s"
        assert len(tokenizer) == 256 + 4
        assert tokenizer.piece(4) == "0"
        assert tokenizer.piece(259) == "255"
        assert tokenizer.piece(3) == "</s>"
        with pytest.raises(ValueError, match=r"must be in 0\.\.259"):
            tokenizer.symbol(260)

    def test_nothing_is_learned_and_settings_are_kept(self, tmp_path: Path) -> None:
        made = train_tokenizer(SPEECH, ["a.wav"], seed=1)
        made.save(tmp_path, "source")
        assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.source.toml"]
        loaded = load_tokenizer(tmp_path, "source")
        assert isinstance(loaded, SpeechTokenizer)
        assert loaded.config == SPEECH
        assert loaded.fingerprint == made.fingerprint

    @pytest.mark.parametrize("change", [{"frame_width": 21}, {"highest_frequency": 3000}])
    def test_the_fingerprint_knows_what_decides(self, change: dict[str, int]) -> None:
        other = SpeechTokenizer(SPEECH.model_copy(update=change))
        assert other.fingerprint != SpeechTokenizer(SPEECH).fingerprint


class TestWrongRecordings:
    def refused(self, tokenizer: SpeechTokenizer, line: str, message: str) -> str:
        with pytest.raises(HeedfulError, match=message) as caught:
            tokenizer.encode(line)
        return caught.value.hint or ""

    def test_missing(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        hint = self.refused(tokenizer, str(tmp_path / "x.wav"), r"There is no recording .*x\.wav: No such file")
        assert "names .wav files, with blanks between" in hint

    def test_no_sound(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        (tmp_path / "a.wav").write_text("hello")
        assert "sox" in self.refused(tokenizer, str(tmp_path / "a.wav"), r"a\.wav is no \.wav file that can be read")
        (tmp_path / "b.wav").write_bytes(b"")
        self.refused(tokenizer, str(tmp_path / "b.wav"), r"b\.wav is no \.wav file that can be read: it is cut off")

    def test_a_broken_archive(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        (tmp_path / "all.zip").write_text("no archive")
        self.refused(tokenizer, str(tmp_path / "all.zip" / "a.wav"), r"a\.wav cannot be read: File is not a zip file")

    def test_other_samples(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        name = write(tmp_path / "a.wav", np.zeros(100), width=1)
        assert "-b 16" in self.refused(tokenizer, name, r"a\.wav has samples of 8 bits, but 16 are needed")

    def test_two_rates(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        names = write(tmp_path / "a.wav", tone(400)), write(tmp_path / "b.wav", tone(400), rate=16_000)
        hint = self.refused(tokenizer, " ".join(names), r"b\.wav has 16,000 samples a second, but .*a\.wav has 8,000")
        assert "-r 8000" in hint

    def test_too_low_a_rate(self, tokenizer: SpeechTokenizer, tmp_path: Path) -> None:
        name = write(tmp_path / "a.wav", tone(400), rate=6000)
        assert "8,000" in self.refused(tokenizer, name, r"a\.wav has 6,000 samples a second, too few")

    def test_without_the_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        name = write(tmp_path / "a.wav", tone(400))
        real = builtins.__import__

        def without(wanted: str, *rest: object, **named: object) -> object:
            if wanted == "kaldi_native_fbank":
                raise ImportError(wanted)
            return real(wanted, *rest, **named)

        monkeypatch.setattr(builtins, "__import__", without)
        hint = self.refused(
            SpeechTokenizer(SPEECH), name, "needs the package kaldi-native-fbank, which is not installed"
        )
        assert 'pip install "heedful[speech]"' in hint


class TestSettings:
    def test_text_is_not_speech(self) -> None:
        with pytest.raises(ValueError, match="lowercase and unicode_form are of text"):
            SideConfig(kind="speech", lowercase=True)

    @pytest.mark.parametrize(
        "settings",
        [{"source": SPEECH}, {"joint": False, "source": SPEECH}, {"joint": False, "target": SPEECH}],
    )
    def test_speech_is_for_sources(self, settings: dict) -> None:
        with pytest.raises(ValueError, match='kind = "speech" is for sources alone'):
            TokenizerConfig(**settings)

    def test_a_source_of_speech(self) -> None:
        config = TokenizerConfig(joint=False, source=SPEECH, target=SideConfig(kind="words"))
        assert config.source.kind == "speech"
