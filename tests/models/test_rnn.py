"""The recurrent model by hand: each formula of its papers written out with torch's cells, one sentence at a time."""

import pytest
import torch
from tests.models.rivals import RIVALS, rival
from tests.models.tiny import PAIRS, batch_of
from torch import Tensor, nn

from heedful.attention import General
from heedful.models.kinds import build_model
from heedful.models.recording import recorded_maps
from heedful.models.rnn import RNN
from heedful.models.rnn_config import RNNConfig
from heedful.models.rnn_decoders import BahdanauDecoder, BottleneckDecoder, LuongDecoder

BATCH = batch_of(PAIRS)


def made(name: str) -> RNN:
    model = rival(name)
    assert isinstance(model, RNN)
    return model


def cell_of(layer: nn.Module, suffix: str) -> nn.GRUCell:
    """One layer and direction of a torch GRU as its cell."""
    weights = {key.removesuffix(suffix): value for key, value in layer.named_parameters() if key.endswith(suffix)}
    cell = nn.GRUCell(weights["weight_ih_"].shape[1], weights["weight_hh_"].shape[1], dtype=torch.float64)
    with torch.no_grad():
        for key, value in weights.items():
            getattr(cell, key.removesuffix("_")).copy_(value)
    return cell


def annotations(model: RNN, source: list[int]) -> Tensor:
    """h_j, the states of both directions side by side; the backward one reads from the last token to the first."""
    embedded = model.embed_source(torch.tensor([source]))[0]
    sides = []
    for suffix, order in (("l0", range(len(source))), ("l0_reverse", range(len(source) - 1, -1, -1))):
        cell = cell_of(model.encoder, suffix)
        state, states = torch.zeros(1, 5, dtype=torch.float64), {}
        for place in order:
            state = states[place] = cell(embedded[place : place + 1], state)
        sides.append(torch.cat([states[place] for place in range(len(source))]))
    return torch.cat(sides, dim=1)


def test_encoder_in_both_directions() -> None:
    model = made("bahdanau")
    values = model.encode(BATCH.src, BATCH.src_mask).values
    for row, mask in enumerate(BATCH.src_mask):
        source = BATCH.src[row][mask].tolist()
        torch.testing.assert_close(values[row, : len(source)], annotations(model, source))
        assert not values[row, len(source) :].any()


def first_state(model: RNN, h: Tensor) -> Tensor:
    """tanh(W c + b); c is the last state forward, the first backward."""
    summary = torch.cat([h[-1, :5], h[0, 5:]])
    return torch.tanh(model.decoder.bridge.weight @ summary + model.decoder.bridge.bias)


def test_bahdanau_by_hand() -> None:
    """e_ij = v . tanh(W s_{i-1} + U h_j), alpha = softmax(e), c_i = sum alpha h, s_i = f(s_{i-1}, [y_{i-1}; c_i])."""
    model = made("bahdanau")
    decoder = model.decoder
    assert isinstance(decoder, BahdanauDecoder)
    score, cell = decoder.score, cell_of(decoder.recurrence, "l0")
    source, target = [5, 6, 7, 3], [2, 8, 9]
    h = annotations(model, source)
    state, expected = first_state(model, h), []
    for token in target:
        y = model.embed_target(torch.tensor(token))
        energies = [
            score.weight @ torch.tanh(score.project_query.weight @ state + score.project_key.weight @ h_j) for h_j in h
        ]
        alpha = torch.stack(energies).exp() / torch.stack(energies).exp().sum()
        context = sum((a * h_j for a, h_j in zip(alpha, h, strict=True)), torch.zeros(10, dtype=torch.float64))
        state = cell(torch.cat([y, context])[None], state[None])[0]
        expected.append(torch.tanh(decoder.readout(torch.cat([state, context, y]))))
    batch = torch.tensor([source])
    found = model(batch, torch.ones_like(batch, dtype=torch.bool), torch.tensor([target]))
    torch.testing.assert_close(found[0], torch.stack(expected))


@pytest.mark.parametrize("name", ["luong, dot", "luong, concat, fed"])
def test_luong_by_hand(name: str) -> None:
    """h_t first, then a_t from h_t, then tanh(W_c [c_t; h_t]), which input feeding gives to the next step."""
    model = made(name)
    decoder = model.decoder
    assert isinstance(decoder, LuongDecoder)
    cell = cell_of(decoder.recurrence, "l0")
    source, target = [5, 6, 7, 3], [2, 8, 9]
    memory = annotations(model, source)
    state, fed, expected = first_state(model, memory), torch.zeros(12, dtype=torch.float64), []
    for token in target:
        y = model.embed_target(torch.tensor(token))
        state = cell((torch.cat([y, fed]) if "fed" in name else y)[None], state[None])[0]
        if "dot" in name:
            scores = memory @ state
        else:
            assert isinstance(decoder.score, nn.Module)
            parts = dict(decoder.score.named_parameters())
            whole = torch.cat([parts["project_query.weight"], parts["project_key.weight"]], dim=1)  # W of W [h_t; h_s]
            scores = torch.stack([parts["weight"] @ torch.tanh(whole @ torch.cat([state, h])) for h in memory])
        context = (scores.exp() / scores.exp().sum()) @ memory
        fed = torch.tanh(decoder.combine.weight @ torch.cat([context, state]))
        expected.append(fed)
    batch = torch.tensor([source])
    found = model(batch, torch.ones_like(batch, dtype=torch.bool), torch.tensor([target]))
    torch.testing.assert_close(found[0], torch.stack(expected))


@pytest.mark.parametrize("name", ["luong, local-m", "luong, local-p"])
def test_local_windows_by_hand(name: str) -> None:
    """The softmax of the scores in [p - D, p + D]; p is t, or (S - 1) sigmoid(v . tanh(W h_t)) with a Gaussian of
    sigma = D / 2 upon it, not renormalised. [spec C6]
    """
    model = made(name)
    decoder = model.decoder
    assert isinstance(decoder, LuongDecoder)
    source, target = torch.tensor([[5, 6, 7, 8, 9, 10, 4, 3]]), torch.tensor([[2, 8, 9, 4, 5]])
    queries: list[Tensor] = []
    handle = decoder.recurrence.register_forward_hook(lambda _module, _inputs, outputs: queries.append(outputs[0]))
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    with recorded_maps(model) as maps:
        model.decode(memory, target)
    handle.remove()
    assert isinstance(decoder.score, General)
    for t, state in enumerate(torch.cat(queries, dim=1)[0]):
        p, radius = torch.tensor(float(t), dtype=torch.float64), 2
        if decoder.predict is not None:
            p, radius = 7 * torch.sigmoid(decoder.predict.outer(torch.tanh(decoder.predict.inner(state))))[0], 4
        places = torch.arange(8)
        inside = (places - p).abs() <= radius
        exponentials = (memory.values[0] @ (decoder.score.weight.T @ state)).exp() * inside
        weights = exponentials / exponentials.sum()
        if decoder.predict is not None:
            weights = weights * torch.exp(-((places - p) ** 2) / (2 * (radius / 2) ** 2))
        torch.testing.assert_close(maps[0].weights[0, t], weights.float())


def test_without_attention_only_the_summary_is_read() -> None:
    """The bottleneck: what stands in the memory between first and last token has no way into the output."""
    model = made("none")
    assert isinstance(model.decoder, BottleneckDecoder)
    memory = model.encode(BATCH.src[:1], BATCH.src_mask[:1])
    changed = memory.values.clone()
    changed[:, 1:-1] += 1
    changed[:, 0, :5] += 1  # forward, of the first
    changed[:, -1, 5:] += 1  # backward, of the last
    hidden = [model.decode(memory._replace(values=values), BATCH.tgt_in[:1]) for values in (memory.values, changed)]
    assert torch.equal(*hidden)
    changed[:, -1, 0] += 1
    assert not torch.equal(model.decode(memory._replace(values=changed), BATCH.tgt_in[:1]), hidden[0])


def test_without_feedback_outputs_are_independent_given_the_source() -> None:
    model = made("none, no feedback")
    memory = model.encode(BATCH.src, BATCH.src_mask)
    other = torch.full_like(BATCH.tgt_in, 9)
    assert torch.equal(model.decode(memory, BATCH.tgt_in), model.decode(memory, other))


@pytest.mark.parametrize("mask", [[False, True, True], [True, False, True], [False, False, False]])
def test_a_mask_with_holes_is_refused(mask: list[bool]) -> None:
    with pytest.raises(ValueError, match="`src_mask` must be True for the first tokens of each source"):
        made("none").encode(torch.tensor([[5, 6, 7]]), torch.tensor([mask]))


def test_dropout_between_layers_is_there_in_training_only() -> None:
    config = RNNConfig.model_validate({**RIVALS["luong, general, lstm"].model_dump(), "dropout": 0.5})
    model = build_model(config, 11, 11)
    trained = [model.train()(BATCH.src, BATCH.src_mask, BATCH.tgt_in) for _ in range(2)]
    assert not torch.equal(*trained)
    model.eval()
    assert torch.equal(*[model(BATCH.src, BATCH.src_mask, BATCH.tgt_in) for _ in range(2)])
