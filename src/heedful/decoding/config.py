"""Settings of search."""

from typing import Annotated, Literal

from pydantic import Field

from heedful.config import Config

Count = Annotated[int, Field(gt=0)]


class SearchConfig(Config):
    """How outputs are found. `beam = 1` is greedy search; `temperature` switches to sampling."""

    beam: Count = 5
    length_penalty: Annotated[float, Field(ge=0)] = Field(
        default=0.6, description="alpha of [Wu 2016, Eq. 14]: log p / ((5 + length) / 6)^alpha"
    )
    max_extra: Count = Field(
        default=50, description="an output has at most source length + max_extra tokens (the paper: 50)"
    )
    max_tokens: Count = Field(default=4096, description="padded source tokens times beam in a batch")
    max_source: Count = Field(
        default=1024, description="longer inputs are split at sentence ends, else at this many tokens, with a warning"
    )
    precision: Literal["float32", "bfloat16", "int8"] = Field(
        default="float32", description="precision of the operands of linear maps; sums and all else are float32"
    )
    temperature: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="given: sample instead of searching"
    )
    top_k: Count | None = Field(default=None, description="sampling: only the k most probable tokens")
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="sampling: only the smallest set with this much probability"
    )
    epsilon: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="sampling: only tokens of at least this probability"
    )
    seed: int = Field(default=1, description="sampling")
    mbr_samples: Count | None = Field(
        default=None, description="given: minimum Bayes risk decoding against so many samples"
    )
    mbr_candidates: Literal["samples", "beam", "both"] = Field(
        default="samples", description="MBR chooses among: the samples, what beam search finds, both"
    )
    mbr_utility: Literal["chrf", "bleu", "edit", "edit-characters"] = Field(
        default="chrf", description="MBR: chrf | bleu | edit (of symbols between blanks) | edit-characters"
    )
    no_repeat_ngram: Count | None = Field(default=None, description="no n-gram of this order stands in an output twice")
    shortlist: bool = Field(default=False, description="only what `heedful shortlist` found likely for a source")


def settings_of_decoders(search: SearchConfig) -> list[str]:
    """Which of these settings a model without a decoder cannot have."""
    usual = SearchConfig()
    names = ("length_penalty", "temperature", "mbr_samples", "no_repeat_ngram", "shortlist")
    return [name for name in names if getattr(search, name) != getattr(usual, name)]
