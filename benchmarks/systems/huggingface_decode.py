"""Hugging Face's `generate` on the model that `heedful export --to huggingface` wrote; it stops as fairseq does."""

from collections.abc import Sequence

import torch
from decode_clock import EOS, EXTRA, PAD, asked, report, tokenizers_of
from transformers import AutoModelForSeq2SeqLM

found = asked()
torch.set_num_threads(found.threads)
tokenizers = tokenizers_of(found)
model = AutoModelForSeq2SeqLM.from_pretrained(found.export, dtype=torch.float32).eval()


@torch.inference_mode()
def translate(lines: Sequence[str]) -> list[str]:
    sources = [torch.tensor([*tokenizers.source.encode(line), EOS]) for line in lines]
    batch = torch.nn.utils.rnn.pad_sequence(sources, batch_first=True, padding_value=PAD)
    beams = {"num_beams": found.beam}
    if found.beam > 1:
        beams |= {"length_penalty": 0.0, "early_stopping": True}
    outputs = model.generate(
        input_ids=batch,
        attention_mask=(batch != PAD).long(),
        do_sample=False,
        max_new_tokens=batch.shape[1] + EXTRA,
        **beams,
    )
    return [tokenizers.target.decode([n for n in row if n > EOS or n == 1]) for row in outputs.tolist()]


report(found, translate)
