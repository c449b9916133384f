"""fairseq's Transformer, criterion and Adam, in the steps of its trainer: sums, division by tokens, clipping, step."""

from argparse import Namespace

import torch
from clock import learning_rate, report, settings
from fairseq_parts import PAD, Adam, LabelSmoothedCrossEntropyCriterion, build, dictionary_of, to_fairseq
from torch import Tensor

sizes = settings()
dictionary = dictionary_of(sizes["vocabulary"])
renumber = to_fairseq(sizes["vocabulary"])
model = build(sizes, dictionary).train()
criterion = LabelSmoothedCrossEntropyCriterion(
    Namespace(target_dictionary=dictionary), sentence_avg=False, label_smoothing=sizes["smoothing"]
)
parameters = list(model.parameters())
optimizer = Adam(parameters, lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
count = 0


def update(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
    global count
    count += 1
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(count, sizes)
    src, tgt_in, tgt_out = renumber[src], renumber[tgt_in], renumber[tgt_out]
    sample = {
        "net_input": {"src_tokens": src, "src_lengths": (src != PAD).sum(1), "prev_output_tokens": tgt_in},
        "target": tgt_out,
        "ntokens": int((tgt_out != PAD).sum()),
    }
    optimizer.zero_grad()
    loss, n_tokens, _ = criterion(model, sample)
    loss.backward()
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad.div_(n_tokens)
    torch.nn.utils.clip_grad_norm_(parameters, sizes["clip_norm"])
    optimizer.step()
    return loss.item() / n_tokens


report(update, sizes)
