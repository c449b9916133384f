"""Settings of scoring."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from heedful.config import Config

MetricName = Literal["bleu", "chrf", "ter", "multi-bleu", "exact", "wer", "per", "cer", "accuracy", "span-f1"]


class EvaluationConfig(Config):
    """Settings of scoring. The same code scores validations during training and `heedful evaluate`."""

    metrics: Annotated[tuple[MetricName, ...], Field(strict=False, min_length=1)] = Field(
        default=("bleu", "chrf"),
        description="bleu chrf ter multi-bleu (text); exact wer per cer (symbols); accuracy span-f1 (labels)",
    )
    dev_sentences: Annotated[int, Field(ge=0)] = Field(
        default=500, description="decode so many dev sentences at each validation; 0: loss only"
    )
    dev_beam: Annotated[int, Field(gt=0)] = Field(default=1, description="beam at validations during training")
    postprocess: Literal["none", "moses-lowercase"] = Field(
        default="none", description="before multi-bleu; moses-lowercase: the published Multi30k protocol"
    )
    language: str | None = Field(
        default=None, description="of the outputs, as Moses names it (de), for moses-lowercase"
    )
    bootstrap_samples: Annotated[int, Field(gt=0, le=1_000_000)] = Field(
        default=1000, description="resamples for confidence intervals"
    )

    @model_validator(mode="after")
    def _moses_needs_language(self) -> "EvaluationConfig":
        if self.postprocess != "none" and self.language is None:
            raise ValueError(f'postprocess = "{self.postprocess}" needs the `language` of the outputs, such as "de"')
        return self
