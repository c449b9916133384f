"""Settings of scoring."""

from typing import Annotated, Literal

from pydantic import Field

from heedful.config import Config

MetricName = Literal["bleu", "chrf", "ter", "multi-bleu", "exact", "wer", "per", "cer"]


class EvaluationConfig(Config):
    """What is measured. The same code scores validations during training and `heedful evaluate`."""

    metrics: Annotated[tuple[MetricName, ...], Field(strict=False, min_length=1)] = Field(
        ("bleu", "chrf"), description="bleu chrf ter multi-bleu (text); exact wer per cer (symbols)"
    )
    dev_sentences: Annotated[int, Field(ge=0)] = Field(
        500, description="decode so many dev sentences at each validation; 0: loss only"
    )
    dev_beam: Annotated[int, Field(gt=0)] = Field(1, description="beam at validations during training")
    postprocess: Literal["none", "moses-lowercase"] = Field(
        "none", description="applied to outputs (and raw references) before multi-bleu; moses-lowercase: the published Multi30k protocol"
    )
    bootstrap_samples: Annotated[int, Field(gt=0)] = Field(1000, description="resamples for confidence intervals")
