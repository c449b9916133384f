"""The classifier: padding, maps, determinism, gradients to the scores, sampled attention, and what is refused."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.gallery.classifiers import EVERY_VARIANT, SOURCES, VARIANTS, classifier, classifier_config
from tests.models.tiny import FIRST, VOCABULARY, batch_of

from heedful.attention import Additive
from heedful.errors import HeedfulError
from heedful.gallery.pooling.config import PoolingConfig
from heedful.gallery.pooling.directional import DirectionalEncoder
from heedful.gallery.pooling.poolings import KeywordPooling
from heedful.gallery.pooling.query_pooling import HardPooling, PoolingQuery
from heedful.models.classifier import Classifier, readable
from heedful.models.interface import Prediction
from heedful.models.poolings import EncodedSentences
from heedful.models.recording import recorded_maps
from heedful.models.weights import count_parameters, load_weights, weights_of
from heedful.recipe.tables import build_model
from heedful.tasks.table import compute_loss
from heedful.text.vocabulary import EOS, PAD
from heedful.training.config import TrainingConfig

PAIRS = [(source, [FIRST + number]) for number, source in enumerate(SOURCES)]
HARD = VARIANTS["rnn, hard"]
TRAINING = TrainingConfig.model_validate({"max_updates": 10, "warmup_steps": 1, "label_smoothing": 0.0})


def answered(model: Classifier, sources: list[list[int]], extra: int = 0, filler: int = PAD) -> Prediction:
    batch = batch_of([(source, []) for source in sources])
    src = torch.nn.functional.pad(batch.src, (0, extra), value=filler)
    return model.predict(src, torch.nn.functional.pad(batch.src_mask, (0, extra)))


@EVERY_VARIANT
@pytest.mark.parametrize("extra", [0, 1, 7, 50])
def test_a_sentence_alone_and_padded_is_the_same(variant: Mapping[str, object], extra: int) -> None:
    model = classifier(variant)
    together = answered(model, SOURCES, extra, filler=9)
    assert together.logits.shape == (len(SOURCES), 1, VOCABULARY)
    assert together.mask.tolist() == [[True]] * len(SOURCES)
    for row, source in enumerate(SOURCES):
        alone = answered(model, [source])
        torch.testing.assert_close(together.logits[row : row + 1], alone.logits)
        if alone.penalty is not None:
            assert together.penalty is not None
            torch.testing.assert_close(together.penalty[row : row + 1], alone.penalty)


@EVERY_VARIANT
def test_evaluation_draws_nothing(variant: Mapping[str, object]) -> None:
    model = classifier(variant)
    first = answered(model, SOURCES)
    torch.manual_seed(99)
    assert torch.equal(first.logits, answered(model, SOURCES).logits)
    assert first.drawn is None


@EVERY_VARIANT
def test_every_parameter_has_a_gradient(variant: Mapping[str, object]) -> None:
    """The scores of the pooling too, though places are chosen by them. [spec P32]"""
    drawn: dict[str, object] = {"expected_share": 0.0} if variant["pooling"] == "hard" else {}
    model = classifier({**variant, **drawn}).train()
    torch.manual_seed(0)
    loss = compute_loss(model, batch_of(PAIRS), TRAINING)
    loss.smoothed.backward()
    assert loss.count == len(SOURCES)
    unmoved = {name for name, p in model.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())}
    assert unmoved == set()


@EVERY_VARIANT
def test_maps_are_weights_over_words(variant: Mapping[str, object]) -> None:
    model = classifier(variant)
    batch = batch_of(PAIRS)
    with recorded_maps(model) as maps:
        model.predict(batch.src, batch.src_mask)
    read = [one for one in maps if one.name == "reader.0.read"]
    assert len(read) == (variant["pooling"] not in ("max", "last"))
    for one in read:
        weights = one.weights
        assert weights.shape == ((variant["pooling"] == "structured" and 3) or 1, 1, len(SOURCES[0]) + 1)
        assert not weights[..., [1, -1]].any()  # EOS within and at the end
        if variant["pooling"] in ("first-n", "random-n", "keywords"):
            assert int((weights > 0).sum()) == 2
        else:
            torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:2]))
    with pytest.raises(ValueError, match="eval mode only"), recorded_maps(model.train()):
        pass


def test_words_are_what_is_read() -> None:
    batch = batch_of(PAIRS)
    words = readable(batch.src, batch.src_mask)
    assert words[0].tolist() == [True, False, True, True, True, True, True, False]
    assert words[3].tolist() == [True] + [False] * 7  # an empty source: its EOS
    assert (words.sum(dim=1) == torch.tensor([6, 1, 3, 1, 4])).all()
    assert classifier(VARIANTS["rnn, last"]).output_lengths(np.array([7, 0])).tolist() == [1, 1]


class TestPoolings:
    def test_mean_and_max_by_hand(self) -> None:
        mean, largest = (classifier({"encoder": "none", "pooling": pooling}) for pooling in ("mean", "max"))
        largest.load_state_dict(mean.state_dict())
        vectors = mean.embed(torch.tensor([9, 9, 5]))
        for model, vector in ((mean, vectors.mean(dim=0)), (largest, vectors.amax(dim=0))):
            expected = model.output(torch.relu(model.hidden(vector)))
            torch.testing.assert_close(answered(model, [[9, 9, 5]]).logits[0, 0], expected)

    def test_last_is_what_each_direction_knew_at_its_end(self) -> None:
        model = classifier(VARIANTS["rnn, last"])
        assert model.encoder is not None
        ids = torch.tensor([[9, 4, 5, EOS]])
        encoded = model.encoder(model.embed(ids), ids > 0)[-1][0]
        vector = torch.cat([encoded[2, :3], encoded[0, 3:]])
        expected = model.output(torch.relu(model.hidden(vector)))
        torch.testing.assert_close(answered(model, [[9, 4, 5]]).logits[0, 0], expected)

    def test_as_many_keywords_as_words_are_all_of_them_by_weight(self) -> None:
        """N >= L: the words joined in the order of their weights, then zeros. [spec D4]"""
        model = classifier({"encoder": "none", "pooling": "keywords", "n_words": 5})
        ids = torch.tensor([[9, 4, 5, EOS]])
        with recorded_maps(model) as maps:
            answer = model.predict(ids, ids > 0)
        weights = maps[0].weights[0, 0].double()
        order = weights[:3].argsort(descending=True)
        joined = model.embed(ids[0])[order].flatten()
        expected = model.output(torch.relu(model.hidden(torch.nn.functional.pad(joined, (0, 16)))))
        torch.testing.assert_close(answer.logits[0, 0], expected, atol=1e-5, rtol=1e-5)

    def test_random_places_are_a_function_of_the_words(self) -> None:
        model = classifier({"encoder": "none", "pooling": "random-n", "n_words": 3})

        def places(words: list[int]) -> list[int]:
            batch = batch_of([(words, [])])
            with recorded_maps(model) as maps:
                model.predict(batch.src, batch.src_mask)
            return maps[0].weights[0, 0].nonzero().flatten().tolist()

        sentences = [[4 + (i * k) % 7 for i in range(9)] for k in range(1, 7)]
        chosen = [places(words) for words in sentences]
        assert chosen == [places(words) for words in sentences]
        assert all(len(some) == 3 for some in chosen)
        assert len(set(map(tuple, chosen))) > 3

    def test_the_penalty_is_that_of_the_weights(self) -> None:
        model = classifier(VARIANTS["rnn, structured"])
        batch = batch_of(PAIRS)
        with recorded_maps(model) as maps:
            penalty = model.predict(batch.src, batch.src_mask).penalty
        a = maps[0].weights[:, 0].double()
        assert penalty is not None
        expected = 0.5 * (a @ a.T - torch.eye(3)).square().sum()
        torch.testing.assert_close(penalty[0], expected, atol=1e-5, rtol=1e-5)
        smooth = compute_loss(model, batch, TRAINING)
        torch.testing.assert_close(smooth.smoothed - smooth.nll, penalty.sum())


class TestDirections:
    def test_words_see_only_one_side(self) -> None:
        """The forward half of a word does not know what follows, nor the backward half what precedes. [spec D11]"""
        for kind in ("disan", "disan-scalar"):
            encoder = classifier({"encoder": kind, "pooling": "mean"}).encoder
            assert isinstance(encoder, DirectionalEncoder)
            x = torch.randn(1, 5, 8, dtype=torch.float64, requires_grad=True)
            u = encoder(x, torch.ones(1, 5, dtype=torch.bool))[-1]
            for half, sides in ((slice(0, 8), slice(3, 5)), (slice(8, 16), slice(0, 2))):
                (gradient,) = torch.autograd.grad(u[0, 2, half].sum(), x, retain_graph=True)
                assert not gradient[0, sides].any()
                assert gradient[0].any(dim=-1).sum() == 3

    def test_the_first_word_reads_nothing_forward_and_the_last_nothing_backward(self) -> None:
        """Then s = 0, so u = F * h. [spec P33]"""
        encoder = classifier(VARIANTS["disan"]).encoder
        assert isinstance(encoder, DirectionalEncoder)
        x, real = torch.randn(2, 5, 8, dtype=torch.float64), torch.arange(5) < torch.tensor([[5], [3]])
        blocks, last = (encoder.forward_block, encoder.backward_block), torch.tensor([4, 2])
        for block, places in zip(blocks, (torch.tensor([0, 0]), last), strict=True):
            u, weights = block(x, real)
            rows = torch.arange(2)
            assert not weights[rows, :, places].any()
            h = torch.nn.functional.elu(block.enter(x[rows, places]))
            gate = torch.sigmoid(block.fuse(torch.cat([torch.zeros_like(h), h], dim=-1)))
            torch.testing.assert_close(u[rows, places], gate * h)

    def test_both_versions_have_as_many_parameters(self) -> None:
        sizes = [
            count_parameters(build_model(classifier_config({"encoder": kind, "pooling": "mean"}), 20, 9))
            for kind in ("disan", "disan-scalar")
        ]
        assert sizes[0] == sizes[1]

    def test_too_many_scores_at_once(self) -> None:
        """B S^2 D = 5 * 64 * 8. [spec D11, memory guard]"""
        model = classifier({**VARIANTS["disan"], "max_scores": 2559})
        with pytest.raises(HeedfulError, match=r"5 sentences of 8 tokens need 2,560 scores .* \(2,559\)") as caught:
            answered(model, SOURCES)
        assert "training.max_tokens" in str(caught.value.hint)
        answered(classifier({**VARIANTS["disan"], "max_scores": 2560}), SOURCES)


class TestSampling:
    def test_unbiased_through_the_whole_model(self) -> None:
        """Over all places s, with their probabilities, the gradient is that of sum_s p(s) log p(y|s). [spec D2]"""
        model = classifier({"encoder": "none", "pooling": "hard", "expected_share": 0.0}).train()
        words, label, n = [9, 4, 5], FIRST + 1, 2000
        asking = model.pooling.get_submodule("asking")
        assert isinstance(asking, PoolingQuery)
        assert isinstance(asking.score, Additive)
        scores = asking.score.weight
        vectors = model.embed(torch.tensor(words))
        each_nll = -model.output(torch.relu(model.hidden(vectors))).log_softmax(-1)[:, label]
        p = asking.score(asking.query(vectors[None]), vectors[None, None]).flatten().softmax(-1)
        (exact,) = torch.autograd.grad(p @ each_nll, scores, retain_graph=True)
        torch.manual_seed(0)
        answer = answered(model, [words] * n)
        nll = -answer.logits[:, 0].log_softmax(-1)[:, label]
        added = model.added_loss(answer._replace(penalty=None), nll)
        assert added is not None
        mean = torch.zeros_like(exact)
        for place in range(3):
            drawn = (nll - each_nll[place]).abs() < 1e-9
            share = float(p[place].detach())
            assert abs(float(drawn.double().mean()) - share) < 4 * (share * (1 - share) / n) ** 0.5
            loss = (nll + added)[int(drawn.nonzero()[0])]
            mean += share * torch.autograd.grad(loss, scores, retain_graph=True)[0]
        torch.testing.assert_close(mean, exact)
        assert exact.abs().max() > 1e-4

    def test_the_baseline_moves_with_training_and_is_kept(self, tmp_path: Path) -> None:
        model = classifier(HARD).train()
        batch = batch_of(PAIRS)
        loss = compute_loss(model, batch, TRAINING)
        assert isinstance(model.pooling, HardPooling)
        assert model.pooling.baseline is not None
        expected = -0.1 * float(loss.nll) / loss.count
        assert float(model.pooling.baseline.value) == pytest.approx(expected)
        other = classifier(HARD, seed=1)
        load_weights(other, weights_of(model), tmp_path)
        assert isinstance(other.pooling, HardPooling)
        assert other.pooling.baseline is not None
        assert float(other.pooling.baseline.value) == pytest.approx(expected)
        compute_loss(model.eval(), batch, TRAINING)
        assert float(model.pooling.baseline.value) == pytest.approx(expected)

    def test_the_same_seed_draws_the_same(self) -> None:
        model = classifier({**HARD, "expected_share": 0.3}).train()
        logits = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            logits.append(answered(model, SOURCES).logits)
        assert torch.equal(logits[0], logits[1])
        assert not torch.equal(logits[0], logits[2])

    def test_the_two_policies_outside_training(self) -> None:
        likeliest = classifier({**HARD, "test_policy": "argmax"})
        expected = classifier({**HARD, "test_policy": "expected"})
        soft = classifier({**HARD, "pooling": "attention"})
        weights, batch = [], batch_of(PAIRS)
        for model in (likeliest, expected, soft):
            model.load_state_dict(likeliest.state_dict(), strict=False)
            with recorded_maps(model) as maps:
                model.predict(batch.src, batch.src_mask)
            weights.append(maps[-1].weights)
        assert sorted(weights[0].unique().tolist()) == [0.0, 1.0]
        assert torch.equal(weights[1], weights[2])
        assert torch.equal(weights[0].argmax(-1), weights[2].argmax(-1))

    def test_the_entropy_counts(self) -> None:
        model = classifier({**HARD, "entropy_weight": 0.25}).train()
        answer = answered(model, SOURCES)
        assert answer.drawn is not None
        assert answer.penalty is not None
        torch.testing.assert_close(answer.penalty, -0.25 * answer.drawn.entropy)
        assert (answer.drawn.entropy[[0, 2, 4]] > 0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": "rnn", "pooling": "mean", "d_hidden": 7}, "`d_hidden` must be even, half for each direction"),
        ({"encoder": "transformer", "pooling": "mean", "n_heads": 3}, r"`n_heads` must divide `d_model` \(8\)"),
        (
            {"encoder": "disan", "pooling": "mean", "layer_mix": True},
            '`layer_mix` is of `encoder` = "rnn" or "transformer"',
        ),
        (
            {"encoder": "rnn", "pooling": "mean", "layer_mix": True},
            "`layer_mix` needs two layers or more, but `n_layers` is 1",
        ),
        ({"encoder": "rnn", "pooling": "mean", "query": "first"}, '`query` is of `pooling` = "attention" or "hard"'),
        ({"encoder": "rnn", "pooling": "max", "reads": "embedded"}, '`reads` is of `pooling` = "attention" or "hard"'),
    ],
)
def test_parts_that_do_not_fit(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier_config(settings)


IDLE = [
    ("d_hidden", "none", "mean"),
    ("cell", "none", "mean"),
    ("n_layers", "disan", "mean"),
    ("n_heads", "rnn", "mean"),
    ("max_scores", "rnn", "mean"),
    ("d_attention", "disan", "source2token"),
    ("rows", "rnn", "max"),
    ("overlap_weight", "rnn", "max"),
    ("n_words", "rnn", "max"),
    ("test_policy", "rnn", "attention"),
    ("expected_share", "rnn", "attention"),
    ("entropy_weight", "rnn", "attention"),
    ("reward_baseline", "rnn", "attention"),
]
OTHER = {
    "cell": "gru",
    "test_policy": "expected",
    "reward_baseline": False,
    "expected_share": 0.25,
    "entropy_weight": 0.5,
}


@pytest.mark.parametrize(("name", "encoder", "pooling"), IDLE)
def test_a_setting_of_another_part_is_refused(name: str, encoder: str, pooling: str) -> None:
    """But for what it is by default."""
    parts, value = {"encoder": encoder, "pooling": pooling}, OTHER.get(name, 2)
    with pytest.raises(ValueError, match=f"`{name}` is of `(encoder|pooling)` = .*: leave it out, or set it to"):
        PoolingConfig.model_validate({**parts, name: value})
    usual = PoolingConfig.model_fields[name].default
    assert getattr(PoolingConfig.model_validate({**parts, name: usual}), name) == usual


def test_what_it_says_of_itself() -> None:
    assert classifier_config(HARD).summary == (
        "pooling-classifier, encoder rnn, pooling hard (argmax outside training)"
    )
    plain = PoolingConfig(encoder="none", pooling="mean")
    assert plain.summary == "pooling-classifier, encoder none, pooling mean"
    disan = PoolingConfig(encoder="disan", pooling="source2token")
    assert disan.activation_count(20, 1) > plain.activation_count(20, 1)
    assert disan.activation_count(200, 1) > 50 * disan.activation_count(20, 1)


def test_a_keyword_of_vanishing_weight_is_read_all_the_same() -> None:
    """Behind a weight of 1 the others are 0 in float32, but the chosen words keep their size."""
    pooling = KeywordPooling(4, 4, 2)
    with torch.no_grad():
        pooling.pool.queries.mul_(0).add_(400.0)
        pooling.pool.inner.weight.copy_(torch.eye(4))
    words = torch.tensor([[[3.0, 3, 3, 3], [-3, -3, -3, -3]]])
    seen = torch.ones(1, 2, dtype=torch.bool)
    read = pooling(EncodedSentences(torch.tensor([[5, 6]]), words, words, seen))
    torch.testing.assert_close(read.vector, words.flatten(1))
