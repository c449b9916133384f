"""What is said of tensors, masks and parts that do not fit each other, before anything is computed with them.

Knows no attention.
"""

from collections.abc import Sequence

from torch import Tensor

from heedful.attention.masks import Mask


def check_parts(query: object, key: object, value: object, score: object) -> None:
    """Raise TypeError or ValueError unless these are queries [B H T E], keys [B H S E], values [B H S E] and a score.

    Widths may differ: a score says itself which it takes.
    """
    for name, axes, tensor in (("query", "[B H T E]", query), ("key", "[B H S E]", key), ("value", "[B H S E]", value)):
        check_rank(name, axes, tensor)
    assert isinstance(query, Tensor)
    assert isinstance(key, Tensor)
    assert isinstance(value, Tensor)
    if query.shape[:2] != key.shape[:2]:
        found = f"{list(query.shape[:2])} and {list(key.shape[:2])}"
        raise ValueError(f"`query` and `key` must have the same sentences and heads [B H], but have {found}.")
    if key.shape[:3] != value.shape[:3]:
        found = f"{list(key.shape[:3])} and {list(value.shape[:3])}"
        raise ValueError(f"`key` and `value` must belong together in [B H S], but have {found}.")
    if not callable(score):
        raise TypeError(f"`score` must be a function of queries and keys, such as scaled_dot, but is {score!r:.60}.")


def check_rank(name: str, axes: str, tensor: object) -> None:
    """Raise TypeError for what is no tensor, and ValueError for one without exactly these axes, such as "[B S D]"."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"`{name}` must be a tensor {axes}, but is a {type(tensor).__name__}.")
    if tensor.dim() != len(axes.split()):
        raise ValueError(f"`{name}` must be {axes}, but its shape is {list(tensor.shape)}.")


def check_width(name: str, tensor: Tensor, width: int, of: str) -> None:
    """Raise ValueError unless the last axis of a tensor is `width`, which is the size `of` something."""
    if tensor.shape[-1] != width:
        raise ValueError(f"`{name}` must be {width} wide, as {of} is, but is {tensor.shape[-1]}.")


def check_same_width(query: Tensor, key: Tensor) -> None:
    """Raise ValueError for queries and keys of different widths, of which no product can be taken."""
    if query.shape[-1] != key.shape[-1]:
        found = f"{query.shape[-1]} and {key.shape[-1]}"
        hint = f"General({query.shape[-1]}, {key.shape[-1]}) and Additive score different ones"
        raise ValueError(f"`query` and `key` must be equally wide for this score, but are {found}; {hint}.")


def check_mask(mask: object, shape: Sequence[int]) -> None:
    """Raise TypeError for what is no mask, and ValueError for one that does not fit scores of this shape."""
    if not isinstance(mask, Mask):
        kind = f"a tensor of shape {list(mask.shape)}" if isinstance(mask, Tensor) else f"a {type(mask).__name__}"
        ways = "Mask.key_padding(real) of [B S], Mask.pair(visible) of [T S] or Mask.full(visible) of [B H T S]"
        raise TypeError(f"`mask` must be a Mask, made by {ways}, but is {kind}.")
    batch, heads, queries, keys = shape
    mask.check(batch, heads, queries, keys)
