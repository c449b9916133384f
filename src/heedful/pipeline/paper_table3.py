"""The parameter column of the paper's Table 3, counted from real models.

The models are built on torch's meta device, so that nothing is allocated. The rows of part (D) are left out: dropout
and label smoothing change no shape.
"""

from typing import NamedTuple

import torch

from heedful.config import Layer
from heedful.models.transformer_config import TransformerConfig
from heedful.models.weights import count_parameters
from heedful.recipe.presets import preset_layer
from heedful.recipe.recipe import resolve_recipe
from heedful.recipe.tables import build_model

ROWS: tuple[tuple[str, dict[str, object], int | None], ...] = (  # name, what differs from base, millions printed
    ("base", {}, 65),
    ("(A) h=1", {"n_heads": 1, "d_k": 512, "d_v": 512}, None),
    ("(A) h=4", {"n_heads": 4, "d_k": 128, "d_v": 128}, None),
    ("(A) h=16", {"n_heads": 16, "d_k": 32, "d_v": 32}, None),
    ("(A) h=32", {"n_heads": 32, "d_k": 16, "d_v": 16}, None),
    ("(B) d_k=16", {"d_k": 16, "d_v": 64}, 58),
    ("(B) d_k=32", {"d_k": 32, "d_v": 64}, 60),
    ("(C) N=2", {"n_encoder_layers": 2, "n_decoder_layers": 2}, 36),
    ("(C) N=4", {"n_encoder_layers": 4, "n_decoder_layers": 4}, 50),
    ("(C) N=8", {"n_encoder_layers": 8, "n_decoder_layers": 8}, 80),
    ("(C) d_model=256", {"d_model": 256, "d_k": 32, "d_v": 32}, 28),
    ("(C) d_model=1024", {"d_model": 1024, "d_k": 128, "d_v": 128}, 168),
    ("(C) d_ff=1024", {"d_ff": 1024}, 53),
    ("(C) d_ff=4096", {"d_ff": 4096}, 90),
    ("(E) learned positions", {"positions": "learned"}, None),
    ("big", {"d_model": 1024, "d_ff": 4096, "n_heads": 16}, 213),
)


class ParameterCount(NamedTuple):
    """One row: our parameters and the paper's, each as they are and as a difference to the base row.

    The paper's figures are in millions, rounded as printed; None where the table leaves the field empty.
    """

    row: str
    parameters: int
    difference: int
    paper_millions: int | None
    paper_difference: int | None


def table3(vocab_size: int) -> list[ParameterCount]:
    """Count every row with one shared vocabulary of this size.

    The paper's base row implies about 40,700 entries and its big row about 35,700, so that no single size gives the
    whole column: the differences between rows are the sound comparison. [Vaswani 2017, Table 3]
    """
    base, base_paper = _parameters({}, vocab_size), 65
    counts = []
    for row, changes, paper in ROWS:
        parameters = _parameters(changes, vocab_size)
        paper_difference = None if paper is None else paper - base_paper
        counts.append(ParameterCount(row, parameters, parameters - base, paper, paper_difference))
    return counts


def _parameters(changes: dict[str, object], vocab_size: int) -> int:
    layers = [preset_layer("paper-base"), Layer("Table 3", {"data": {"catalogue": "copy"}, "model": changes})]
    config: TransformerConfig = resolve_recipe(layers).config.model
    with torch.device("meta"):
        return count_parameters(build_model(config, vocab_size, vocab_size))
