"""fairseq 0.12.2 on today's Python: its imports, its dictionary, and its Transformer in given sizes.

fairseq numbers the special tokens BOS 0, PAD 1, EOS 2, UNK 3; Heedful PAD 0, UNK 1, BOS 2, EOS 3.
"""

import dataclasses
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_plain_dataclass = dataclasses.dataclass


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """Python 3.11 refuses defaults that have no hash; fairseq's and hydra's settings are such, and are given one."""

    def made(found: type) -> type:
        if found.__module__.split(".")[0] in {"fairseq", "hydra"}:
            options.setdefault("unsafe_hash", True)
        return _plain_dataclass(found, **options)

    return made if cls is None else made(cls)


dataclasses.dataclass = _dataclass
try:
    from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
    from fairseq.data import Dictionary
    from fairseq.models.transformer import TransformerModel
    from fairseq.optim.adam import Adam
    from fairseq.sequence_generator import SequenceGenerator
finally:
    dataclasses.dataclass = _plain_dataclass

__all__ = ["Adam", "LabelSmoothedCrossEntropyCriterion", "SequenceGenerator", "build", "dictionary_of", "to_fairseq"]

PAD = 1


def dictionary_of(size: int) -> Dictionary:
    """A vocabulary of `size` entries, the four special ones first."""
    dictionary = Dictionary()
    for number in range(len(dictionary), size):
        dictionary.add_symbol(f"t{number}")
    return dictionary


def to_fairseq(size: int) -> Tensor:
    """The permutation from Heedful's ids to fairseq's; its own inverse is `argsort`."""
    numbers = torch.arange(size)
    numbers[:4] = torch.tensor([1, 3, 0, 2])
    return numbers


def build(sizes: dict, dictionary: Dictionary, change: Callable[[Namespace], None] = lambda _args: None) -> Any:
    """The Transformer, post-norm with shared embeddings, after `change` to fairseq's own arguments."""
    args = Namespace(
        encoder_embed_dim=sizes["d_model"],
        encoder_ffn_embed_dim=sizes["d_ff"],
        encoder_layers=sizes["n_layers"],
        encoder_attention_heads=sizes["n_heads"],
        decoder_layers=sizes["n_layers"],
        decoder_attention_heads=sizes["n_heads"],
        dropout=sizes["dropout"],
        share_all_embeddings=True,
        max_source_positions=510,
        max_target_positions=510,
    )
    change(args)
    return TransformerModel.build_model(args, Namespace(source_dictionary=dictionary, target_dictionary=dictionary))
