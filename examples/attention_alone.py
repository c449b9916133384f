"""The attention core without the rest: a query reads a memory, with a score, a mask and a normaliser of your choice."""

import torch

import heedful
from heedful.attention import Cosine, Mask, MultiHeadAttention, scaled_dot

torch.manual_seed(0)
query = torch.randn(2, 1, 3, 8)  # [B H T E]: two sentences, one head, three queries of width eight
memory = torch.randn(2, 1, 5, 8)  # [B H S E]: five vectors a sentence

# The second sentence has only three real vectors. True = may attend, everywhere in Heedful.
real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
read = heedful.attend(query, memory, memory, score=scaled_dot, mask=Mask.key_padding(real))
assert read.weights is not None
print("context", list(read.context.shape), "weights", list(read.weights.shape))
print("the second sentence's first query reads", [round(weight, 2) for weight in read.weights[1, 0, 0].tolist()])

# Another score is another part in the same slot.
sharp = heedful.attend(query, memory, memory, score=Cosine(temperature=0.1), mask=Mask.key_padding(real))
print("largest weight: scaled dot", f"{read.weights.max():.2f},", "cosine", f"{sharp.weights.max():.2f}")

# With heads and projections: the memory is projected once, however many queries read it.
attention = MultiHeadAttention(d_model=16, n_heads=4)
sentences = torch.randn(2, 5, 16)  # [B S D]
key_value = attention.project(sentences)
causal = Mask.causal(5, 5, offset=0) & Mask.key_padding(real)
output, weights = attention(sentences, key_value, causal, weights=True)
print("multi-head output", list(output.shape), "weights of each head", list(weights.shape))
