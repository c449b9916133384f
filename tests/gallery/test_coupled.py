"""Coupled multi-layer attention [Wang 2017] against its equations, with and without the coupling."""

import pytest
import torch
from tests.gallery.composed import LABELS, batch, composed
from torch import Tensor

from heedful.attention import attend
from heedful.gallery.coupled.config import CoupledConfig
from heedful.gallery.coupled.model import Coupled
from heedful.models.recording import recorded_maps
from heedful.models.weights import count_parameters, weights_of

WORDS = [5, 6, 7, 4, 9]


def coupled(name: str = "coupled") -> Coupled:
    model = composed(name)
    assert isinstance(model, Coupled)
    return model


def word_vectors(model: Coupled, ids: list[int]) -> Tensor:
    assert model.gru is not None
    return model.gru.layers[0](model.embed(torch.tensor([ids])))[0]


def expected_layers(model: Coupled, ids: list[int]) -> tuple[list[Tensor], list[Tensor]]:
    """The features r [2 S 2K] and weights [2 S] of each layer, by `attend` with the whole score."""
    h = word_vectors(model, ids)[:, None].expand(-1, 2, -1, -1)
    u = model.prototypes[None]
    features, weights = [], []
    for _ in range(model.config.n_layers):
        read = attend(u, h, h, score=model.score)
        assert read.weights is not None
        features.append(model.score.features(u, h)[0])
        weights.append(read.weights[0, :, 0])
        carried = torch.stack([torch.tanh(model.carry[m].T @ u[0, m, 0]) for m in range(2)])
        u = (carried + read.context[0, :, 0])[None, :, None]
    return features, weights


@pytest.mark.parametrize("name", ["coupled", "uncoupled"])
def test_equals_the_equations(name: str) -> None:
    """Tags from the sum of both heads' features over the layers; weights of each layer; the penalty's mean."""
    model, some = coupled(name), batch([WORDS])
    with recorded_maps(model) as maps:
        answer = model.predict(some.src, some.src_mask)
    features, weights = expected_layers(model, WORDS)
    total = torch.stack(features).sum(0)  # [2 S 2K]
    torch.testing.assert_close(answer.logits[0], model.output(torch.cat([total[0], total[1]], dim=-1)))
    for found, expected in zip(maps, weights, strict=True):
        for row in range(len(WORDS)):
            torch.testing.assert_close(found.weights[:, row, :-1], expected.float())
        assert not found.weights[:, :, -1].any()
    if name == "coupled":
        overlaps = [(a @ a.T - torch.eye(2)).square().sum() for a in weights]
        torch.testing.assert_close(answer.penalty, 0.5 * torch.stack(overlaps).mean()[None])


TAGS = ["<pad>", "<unk>", "<s>", "</s>", "O", "B-y", "I-x", "B-x"]  # x is head 0's, y head 1's


def named(name: str = "uncoupled") -> Coupled:
    """With two label heads that know their tags."""
    model = coupled(name)
    model.name_labels([*TAGS, *["O"] * (LABELS - len(TAGS))][:LABELS])
    return model


def test_two_label_heads_are_two_softmaxes() -> None:
    """p(tag) is what both heads' own softmaxes over (O, B, I) say of it, as if no word could be of both kinds."""
    model, some = named(), batch([WORDS])
    r = torch.stack(expected_layers(model, WORDS)[0]).sum(0)  # [2 S 2K]
    half, rows = 2 * model.config.n_forms, {tag: TAGS.index(tag) for tag in ("O", "B-x", "I-x", "B-y")}
    weight, bias = model.output.weight, model.output.bias - model.output.bias[rows["O"]]
    score = {
        tag: r[int(tag.endswith("y"))] @ weight[row].unflatten(0, (2, half))[int(tag.endswith("y"))] + bias[row]
        for tag, row in rows.items()
        if tag != "O"
    }
    nothing = torch.zeros_like(score["B-x"])
    x = torch.stack([nothing, score["B-x"], score["I-x"]]).log_softmax(dim=0)
    y = torch.stack([nothing, score["B-y"]]).log_softmax(dim=0)
    both = torch.stack([x[0] + y[0], x[1] + y[0], x[2] + y[0], x[0] + y[1]])
    logits = model.predict(some.src, some.src_mask).logits[0][:, list(rows.values())]
    torch.testing.assert_close(logits.T.log_softmax(dim=0), both.log_softmax(dim=0))


@pytest.mark.parametrize("tags", [["O", "B-x", "I-x"], ["NOUN", "VERB"], ["B-x", "B-y", "I-z"]])
def test_two_label_heads_need_tags_of_two_kinds(tags: list[str]) -> None:
    with pytest.raises(ValueError, match=r'`model.label_heads` = "two" needs tags of two kinds .* set it to "one"'):
        coupled("uncoupled").name_labels([*TAGS[:4], *tags, *["O"] * (LABELS - 4 - len(tags))])
    coupled().name_labels(tags)  # one label head takes any


def test_neighbours_alone() -> None:
    """Without a GRU over the sentence, a word's vector changes with the words beside it and with no others."""
    model = coupled("coupled, window")
    assert model.window is not None
    x = model.embed(torch.tensor([WORDS])).detach().requires_grad_()
    h = model.window(x, torch.ones(1, len(WORDS), dtype=torch.bool))
    (gradient,) = torch.autograd.grad(h[0, 1].sum(), x)
    assert gradient[0].any(dim=-1).tolist() == [True, True, True, False, False]
    joined = torch.cat([torch.zeros_like(x[0, 0]), x[0, 0], x[0, 1]])
    torch.testing.assert_close(h[0, 0], torch.tanh(model.window.linear(joined)))


def test_a_head_sees_the_other_prototype_only_where_they_are_coupled() -> None:
    for name, sees in (("coupled", True), ("uncoupled", False)):
        model = coupled(name)
        h = word_vectors(model, WORDS)[:, None].expand(-1, 2, -1, -1)
        u = model.prototypes[None].detach().requires_grad_()
        (gradient,) = torch.autograd.grad(model.score.features(u, h)[:, 0].sum(), u)
        assert gradient[0, 0].any()
        assert bool(gradient[0, 1].any()) == sees


def test_uncoupled_forms_are_zero_and_stay_so() -> None:
    model = coupled("uncoupled").train()
    some = batch([WORDS])
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    model(some.src, some.src_mask).logits.square().sum().backward()
    optimizer.step()
    assert not model.score.other.any()
    assert model.score.own.grad is not None
    whole = sum(parameter.numel() for parameter in model.parameters())
    assert count_parameters(model) == whole - model.score.other.numel() - model.reads.numel()


def test_exchanging_the_roles_exchanges_the_heads() -> None:
    """The same numbers with the heads' places exchanged: their weights are exchanged, and what is said is the same."""
    model, other, some = coupled(), coupled(), batch([WORDS])
    half = 2 * model.config.n_forms
    with torch.no_grad():
        for mine, theirs in (
            (other.prototypes, model.prototypes),
            (other.carry, model.carry),
            (other.score.own, model.score.own),
            (other.score.other, model.score.other),
            (other.score.weight, model.score.weight),
        ):
            mine.copy_(theirs.flip(0))
        for head in range(2):
            other.score.read[head].load_state_dict(model.score.read[1 - head].state_dict())
        other.output.weight.copy_(model.output.weight.roll(half, 1))
    with recorded_maps(model) as maps:
        expected = model.predict(some.src, some.src_mask)
    with recorded_maps(other) as swapped:
        found = other.predict(some.src, some.src_mask)
    torch.testing.assert_close(found.logits, expected.logits)
    for one, two in zip(maps, swapped, strict=True):
        torch.testing.assert_close(two.weights, one.weights.flip(0))
        assert not torch.allclose(one.weights[0], one.weights[1])


def test_a_sentence_without_words_reads_nothing() -> None:
    model, some = coupled(), batch([[]])
    answer = model.predict(some.src, some.src_mask)
    assert answer.logits.shape[:2] == (1, 0)
    torch.testing.assert_close(answer.penalty, torch.tensor([0.5 * 2]).double())  # |0 - I|^2 = 2


def test_an_odd_width_cannot_be_halved() -> None:
    with pytest.raises(ValueError, match='`d_hidden` must be even where `context` = "gru", but is 7'):
        CoupledConfig(d_hidden=7)
    assert CoupledConfig(d_hidden=7, context="window").d_hidden == 7


def test_a_buffer_would_be_lost_and_is_refused() -> None:
    """Of every model: weights are its parameters, and nothing else is kept."""
    model = named()
    assert "reads" in weights_of(model)
    model.register_buffer("forgotten", torch.ones(1))
    with pytest.raises(AssertionError, match="buffers are not kept with the weights: forgotten"):
        weights_of(model)
