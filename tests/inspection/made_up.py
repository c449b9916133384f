"""Traces that no model made: any tokens, seeded weights, the masks a Transformer would have."""

import torch

from heedful.trace import Map, Trace, check_trace


def made_up(source: list[str], target: list[str], n_heads: int = 2, n_layers: int = 2, seed: int = 0) -> Trace:
    """Sharp and soft heads over `source` + </s> and <s> + `target`; decoder self-attention is causal."""
    generator = torch.Generator().manual_seed(seed)
    source, consumed, predicted = [*source, "</s>"], ["<s>", *target], [*target, "</s>"]
    maps = []
    for layer in range(n_layers):
        for kind, rows, columns in (
            ("encoder.{}.self", len(source), len(source)),
            ("decoder.{}.self", len(consumed), len(consumed)),
            ("decoder.{}.cross", len(consumed), len(source)),
        ):
            scores = torch.randn(n_heads, rows, columns, generator=generator)
            slope = columns / rows
            place = torch.arange(columns)[None, :] - torch.arange(rows)[:, None] * slope
            sharpness = torch.linspace(0.05, 1.2, n_heads)[:, None, None]
            scores = scores - sharpness * place.abs()
            mask = torch.ones(1, rows, columns, dtype=torch.bool)
            if kind == "decoder.{}.self":
                mask = mask.tril()
            weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
            maps.append(Map(kind.format(layer), weights, mask))
    log_p = (-(torch.rand(len(predicted), generator=generator) ** 3) * 4).tolist()
    return check_trace(Trace(source, consumed, predicted, log_p, maps))


WORD = made_up(list("heedful"), ["HH", "IY", "D", "F", "AH", "L"])
CJK = made_up(["▁今日", "は", "天気", "が", "いい"], ["▁The", "▁weather", "▁is", "▁nice", "▁today"], seed=1)
RTL = made_up(["▁الكتاب", "▁على", "▁الطاولة"], ["▁הספר", "▁על", "▁השולחן"], seed=2)
