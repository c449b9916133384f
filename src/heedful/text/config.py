"""Settings of the tokenisers."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from heedful.config import Config


class SideConfig(Config):
    """Settings of one side's tokeniser."""

    kind: Literal["sentencepiece", "characters", "words", "speech", "pieces"] = Field(
        default="sentencepiece",
        description="sentencepiece | characters | words (split at blanks) | speech (a line names .wav files); "
        "pieces: of imported models only",
    )
    algorithm: Literal["unigram", "bpe"] = Field(default="unigram", description="sentencepiece only: unigram | bpe")
    vocab_size: Annotated[int, Field(gt=4)] = Field(
        default=8000, description="sentencepiece: exact size; characters, words: the most frequent are kept"
    )
    character_coverage: Annotated[float, Field(gt=0.9, le=1)] = Field(
        default=1.0, description="sentencepiece: share of all characters in the text that get into the vocabulary"
    )
    unicode_form: Literal["NFC", "NFD", "NFKC", "none"] | None = Field(
        default=None,
        description="left out: NFKC for sentencepiece, else NFC; NFD: accents apart, Hangul as jamo, output NFC",
    )
    lowercase: bool = Field(default=False, description="lower-case the text before anything else")
    separator: str | None = Field(
        default=None,
        description="words only: this word ends a part of the text, as EOS does (stories, pairs)",
    )
    sampling: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0,
        description="sentencepiece, training only: bpe: dropout probability; unigram: exponent alpha; 0 is off",
    )

    frame_width: Annotated[int, Field(gt=0)] = Field(
        default=40, description="speech: numbers of a frame, one a mel band; there are 100 frames a second"
    )
    highest_frequency: Annotated[int, Field(gt=20)] = Field(
        default=4000, description="speech: Hz, the upper end of the bands; recordings need at least twice the rate"
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "SideConfig":
        if self.sampling and self.kind != "sentencepiece":
            raise ValueError(f'sampling needs kind = "sentencepiece", but kind is "{self.kind}"')
        if self.separator is not None and (self.kind != "words" or self.separator.split() != [self.separator]):
            raise ValueError(f'separator is one word of kind = "words", but is {self.separator!r} of "{self.kind}"')
        if self.kind == "speech" and (self.lowercase or self.unicode_form):
            raise ValueError('lowercase and unicode_form are of text, and do nothing to kind = "speech"')
        return self


class TokenizerConfig(Config):
    """Both sides. With `joint`, one tokeniser is trained on both and `target` must be left out."""

    joint: bool = Field(default=True, description="one vocabulary for both sides")
    source: SideConfig = SideConfig()
    target: SideConfig | None = Field(default=None, description="left out: the same settings as the source side")

    @property
    def whole_words(self) -> bool:
        """True where targets are made of whole words or symbols, and not spelt."""
        return (self.target or self.source).kind == "words"

    @model_validator(mode="after")
    def _joint_has_one_side(self) -> "TokenizerConfig":
        if self.joint and self.target is not None and self.target != self.source:
            raise ValueError("joint = true shares the source tokeniser, so tokenizer.target must be left out")
        return self

    @model_validator(mode="after")
    def _speech_is_read_only(self) -> "TokenizerConfig":
        if "speech" in ((self.target or self.source).kind, self.source.kind if self.joint else ""):
            raise ValueError(
                'kind = "speech" is for sources alone: set joint = false and tokenizer.target.kind to another one'
            )
        return self
