"""The model of CTC: its places, padding, speech as frames, and that it learns."""

import itertools

import pytest
import torch
from tests.models.test_padding import padded
from tests.models.tiny import PAIRS, VOCABULARY, batch_of

from heedful.data.batch import Batch
from heedful.decoding.ctc import ctc_hypotheses
from heedful.models.ctc import CTC, normalised, stack
from heedful.models.ctc_config import CTCConfig
from heedful.models.interface import EncoderOnly
from heedful.models.kinds import build_model
from heedful.tasks.table import compute_loss
from heedful.text.vocabulary import SPECIALS
from heedful.training.config import TrainingConfig
from heedful.training.loop import build_optimizer

SMALL: dict[str, object] = {"d_model": 12, "d_hidden": 10, "dropout": 0.0}
WIDTH = 3
VARIANTS: dict[str, dict[str, object]] = {
    "tokens": {},
    "lstm": {"cell": "lstm", "n_layers": 1},
    "upsampled": {"upsample": 3},
    "stacked": {"stride": 2},
    "speech": {"frame_width": WIDTH},
    "speech, stacked": {"frame_width": WIDTH, "stride": 2},
    "equal split": {"loss": "equal-split"},
}
EVERY_VARIANT = pytest.mark.parametrize("variant", VARIANTS)


def little(variant: str) -> EncoderOnly:
    """In double precision and eval mode."""
    torch.manual_seed(3)
    config = CTCConfig.model_validate({**SMALL, **VARIANTS[variant]})
    model = build_model(config, VOCABULARY, VOCABULARY)
    assert isinstance(model, CTC)
    return model.double().eval()


def sources(variant: str) -> Batch:
    """Sources of different lengths, one of them empty; whole frames where they are speech."""
    if "speech" not in variant:
        return batch_of(PAIRS)
    return batch_of(
        [([5, 6, 7, 8, 4, 9, 10, 4, 4, 9, 9, 5], [8, 8]), ([9, 9, 4], [6]), ([], []), ([4, 5, 6, 7, 8, 9], [5])]
    )


@EVERY_VARIANT
@pytest.mark.parametrize("extra", [1, 7, 50])
def test_padding_changes_nothing(variant: str, extra: int) -> None:
    model, batch = little(variant), sources(variant)
    wider = padded(batch, extra, filler=9)
    answer, wide = (model(some.src, some.src_mask) for some in (batch, wider))
    assert wide.mask.sum(dim=1).tolist() == answer.mask.sum(dim=1).tolist()
    torch.testing.assert_close(wide.logits[wide.mask], answer.logits[answer.mask])
    config = TrainingConfig(label_smoothing=0.0)
    if variant in ("upsampled", "equal split"):  # the others lack places for some pair
        losses = [compute_loss(model, some, config) for some in (batch, padded(batch, extra))]
        torch.testing.assert_close(losses[0].nll, losses[1].nll)


@EVERY_VARIANT
def test_a_batch_is_its_sentences_one_by_one(variant: str) -> None:
    model, batch = little(variant), sources(variant)
    answer = model(batch.src, batch.src_mask)
    for row, real in enumerate(batch.src_mask):
        alone = model(batch.src[row : row + 1, real], batch.src_mask[row : row + 1, real])
        torch.testing.assert_close(alone.logits[alone.mask], answer.logits[row][answer.mask[row]])


@EVERY_VARIANT
def test_places_are_those_of_the_answer(variant: str) -> None:
    model, batch = little(variant), sources(variant)
    tokens = (batch.src_mask.sum(dim=1) - 1).numpy()
    assert model(batch.src, batch.src_mask).mask.sum(dim=1).tolist() == model.output_lengths(tokens).tolist()


@pytest.mark.parametrize(
    ("settings", "tokens", "places"),
    [({}, 5, 5), ({"stride": 2}, 5, 3), ({"upsample": 3}, 5, 15), ({"frame_width": 4, "stride": 3}, 40, 4)],
)
def test_places_by_hand(settings: dict[str, object], tokens: int, places: int) -> None:
    assert CTCConfig.model_validate({**SMALL, **settings}).output_lengths(tokens) == places


class TestSpeech:
    def test_normalised(self) -> None:
        """By hand: mean 2 and variance 1 over the real frames; the variance of one level is added."""
        values = torch.tensor([[[1.0, 7.0], [3.0, 7.0], [100.0, 0.0]]])
        found = normalised(values, torch.tensor([[[True], [True], [False]]]))
        half = 0.5**0.5
        torch.testing.assert_close(found, torch.tensor([[[-half, 0.0], [half, 0.0], [0.0, 0.0]]]))

    def test_louder_is_the_same(self) -> None:
        """Energy in decibels that is raised everywhere alike says nothing new."""
        model = little("speech")
        quiet = [5, 6, 7, 6, 4, 5]
        louder = [[index + by for index in quiet] for by in (0, 3)]
        batch = batch_of([(source, []) for source in louder])
        answer = model(batch.src, batch.src_mask)
        torch.testing.assert_close(answer.logits[0], answer.logits[1])

    def test_stack(self) -> None:
        frames = torch.arange(1.0, 7.0).view(1, 3, 2)
        assert stack(frames, 2).tolist() == [[[1, 2, 3, 4], [5, 6, 0, 0]]]
        assert torch.equal(stack(frames, 1), frames)

    def test_half_a_frame(self) -> None:
        model, batch = little("speech"), batch_of([([5, 6, 7, 8], [])])
        with pytest.raises(ValueError, match=r"`src` must hold whole frames of 3 numbers, but has \[4\] numbers"):
            model(batch.src, batch.src_mask)

    def test_bands_move_in_training_only(self) -> None:
        config = CTCConfig.model_validate({**SMALL, "frame_width": WIDTH, "band_shift": 1})
        torch.manual_seed(0)
        model = CTC(config, VOCABULARY, VOCABULARY)
        batch = batch_of([([4, 7, 10, 4, 9, 9], [])] * 40)
        still = model.eval()(batch.src, batch.src_mask).logits
        assert torch.equal(still, still[:1].expand_as(still))
        moved = model.train()(batch.src, batch.src_mask).logits
        assert len({tuple(row.flatten().tolist()) for row in moved.detach()}) == 3  # down, not at all, up

    def test_numbers_start_behind_the_special_ids(self) -> None:
        """What the first level of 256 is to the tokeniser is 0 to the model."""
        model = little("speech")
        assert isinstance(model, CTC)
        batch = batch_of([([len(SPECIALS)] * WIDTH, [])])
        assert not model._frames(batch.src, batch.src_mask).values.any()


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"d_hidden": 7}, "`d_hidden` must be even"),
            ({"stride": 2, "upsample": 2}, "one of them must be 1"),
            ({"band_shift": 2}, "`band_shift` must be less than `frame_width`"),
            ({"band_shift": 8, "frame_width": 8}, "`band_shift` must be less than `frame_width`"),
        ],
    )
    def test_what_does_not_fit(self, settings: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            CTCConfig.model_validate({**SMALL, **settings})

    def test_summary_and_size(self) -> None:
        config = CTCConfig(upsample=2)
        assert config.summary == "ctc on gru cells, upsample 2"
        assert config.activation_count(20, 5) > config.activation_count(10, 5) > 0


def test_learns_to_copy_with_repeats() -> None:
    """Sixteen strings with equal neighbours: two places a letter are enough for the blank between them."""
    torch.manual_seed(0)
    model = CTC(CTCConfig(d_model=32, d_hidden=64, n_layers=1, upsample=2, dropout=0.0), VOCABULARY, VOCABULARY)
    letters = torch.randint(len(SPECIALS), VOCABULARY, (16, 5), generator=torch.Generator().manual_seed(1)).tolist()
    batch = batch_of([(row, row) for row in letters])
    assert any(left == right for row in letters for left, right in itertools.pairwise(row))
    config = TrainingConfig(schedule="linear", learning_rate=0.01, warmup_steps=10, max_updates=150)
    optimizer = build_optimizer(model, config)
    for _ in range(150):
        optimizer.zero_grad()
        loss = compute_loss(model, batch, config)
        (loss.smoothed / loss.count).backward()
        optimizer.step()
    model.eval()
    for beam in (1, 4):
        found = ctc_hypotheses(model(batch.src, batch.src_mask), beam, 1)
        assert [some[0].ids for some in found] == letters
