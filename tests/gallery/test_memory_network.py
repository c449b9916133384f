"""Memory networks by the numbers of the paper's equations, and what memories, hops and times are to them."""

import pytest
import torch
from tests.gallery.stories import CONFIGS, STORIES, logits, stories, story_model

from heedful.gallery.reading.config import MemoryConfig
from heedful.gallery.reading.memory_network import MemoryNetwork, position_weights, story_of
from heedful.models.interface import EncoderOnly
from heedful.models.recording import recorded_maps
from heedful.text.vocabulary import EOS

TOLD = [4, 5, 6, EOS, 7, 8, EOS, 9, 5, 6, EOS, 10, 4]
SHUFFLED = [9, 5, 6, EOS, 4, 5, 6, EOS, 7, 8, EOS, 10, 4]


def readings(model: EncoderOnly, story: list[int]) -> list[list[float]]:
    """What each hop reads at the end of each sentence of a story."""
    batch = stories([story])
    with recorded_maps(model) as maps:
        model.predict(batch.src, batch.src_mask)
    ends = [place for place, token in enumerate(story) if token == EOS]
    return [found.weights[0, 0, ends].tolist() for found in maps]


def test_three_hops_by_hand() -> None:
    """u = (1, 0), A = 2 I, C = (0 3; 3 0), each sentence a word. [spec D12]"""
    config = MemoryConfig(d_model=2, encoding="bag", sharing="layer-wise", temporal=False)
    model = story_model(config)
    keys, values = model.get_submodule("embed.0"), model.get_submodule("embed.1")
    with torch.no_grad():
        keys.weight[[4, 5]] = torch.tensor([[2.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
        values.weight[[4, 5]] = torch.tensor([[0.0, 3.0], [3.0, 0.0]], dtype=torch.float64)
        model.get_submodule("embed_question").weight[6] = torch.tensor([1.0, 0.0], dtype=torch.float64)
        model.get_parameter("output.weight")[[4, 5]] = torch.eye(2, dtype=torch.float64)
    expected = [[0.880797, 0.119203], [0.071123, 0.928877], [0.929364, 0.070636]]
    found = readings(model, [4, EOS, 5, EOS, 6])
    assert found == [pytest.approx(hop, abs=1e-6) for hop in expected]
    first, second, third = ([3 * hop[1], 3 * hop[0]] for hop in expected)
    assert first == pytest.approx([0.357609, 2.642391], abs=1e-6)
    last = [1 + first[0] + second[0] + third[0], first[1] + second[1] + third[1]]
    assert logits(model, stories([[4, EOS, 5, EOS, 6]]))[0, [4, 5]].tolist() == pytest.approx(last, abs=1e-4)


def test_weights_of_places() -> None:
    """l_kj for three words and two features, as in the paper; nothing where there is no word. [spec D12]"""
    found = position_weights(torch.tensor([[[True, True, True, False], [False] * 4]]), 2)
    torch.testing.assert_close(found[0, 0, :3], torch.tensor([[0.5, 1 / 3], [0.5, 2 / 3], [0.5, 1.0]]))
    assert not found[0, 0, 3].any()
    assert not found[0, 1].any()


def test_the_youngest_sentence_is_first() -> None:
    batch = stories([TOLD, STORIES[1]])
    story = story_of(batch.src, batch.src_mask, 2)
    assert story.sentences.words[0, :, :2].tolist() == [[9, 5], [7, 8]]
    assert story.ends[0].tolist() == [10, 6]
    assert story.question.words[0, 0, :2].tolist() == [10, 4]
    assert story.sentences.filled.tolist() == [[True, True], [True, False]]
    assert story.sentences.last_words().words[0, :, 0].tolist() == [6, 8]


class TestTime:
    @pytest.mark.parametrize("n_hops", [0, 1, 3])
    def test_without_it_the_story_is_a_set(self, n_hops: int) -> None:
        """The order of the memories changes nothing, and each is read as before."""
        model = story_model(MemoryConfig(d_model=6, n_hops=n_hops, temporal=False))
        torch.testing.assert_close(logits(model, stories([SHUFFLED])), logits(model, stories([TOLD])))
        for before, after in zip(readings(model, TOLD), readings(model, SHUFFLED), strict=True):
            assert after == pytest.approx([before[2], before[0], before[1]])

    def test_with_it_the_order_counts(self) -> None:
        model = story_model(MemoryConfig(d_model=6))
        assert not torch.allclose(logits(model, stories([SHUFFLED])), logits(model, stories([TOLD])))

    def test_it_is_counted_back_from_the_question(self) -> None:
        """Sentences before those that are remembered change nothing."""
        model = story_model(MemoryConfig(d_model=6, max_memories=3))
        longer = [11, 12, EOS, 13, EOS, *TOLD]
        torch.testing.assert_close(logits(model, stories([longer])), logits(model, stories([TOLD])))

    def test_empty_slots_make_memories_older_in_training_alone(self) -> None:
        model = story_model(MemoryConfig(d_model=6, empty_slots=0.5, max_memories=4))
        assert isinstance(model, MemoryNetwork)
        batch = stories([TOLD] * 500)
        sentences = story_of(batch.src, batch.src_mask, 4).sentences
        assert model._ages(sentences).unique(dim=0).tolist() == [[0, 1, 2]]
        torch.manual_seed(0)
        ages = model.train()._ages(sentences).double()
        assert ages.diff(dim=1).min() >= 0
        assert ages.max() == 3
        assert ages[:, 0].mean() == pytest.approx(0.5, abs=0.1)

    def test_words_count_in_their_order_or_not(self) -> None:
        other = [6, 5, 4, EOS, *TOLD[4:]]
        for encoding, alike in (("bag", True), ("position", False)):
            model = story_model(MemoryConfig.model_validate({"d_model": 6, "encoding": encoding}))
            found = logits(model, stories([other])), logits(model, stories([TOLD]))
            assert torch.allclose(*found) is alike


def test_a_memory_whose_score_is_zero_is_read() -> None:
    """Slots are told apart by the mask alone. [spec P10]"""
    model = story_model(MemoryConfig(d_model=4, n_hops=1, encoding="bag", temporal=False))
    with torch.no_grad():
        model.get_submodule("embed.0").weight[10] = 0.0
    batch = stories([[4, 5, EOS, 6, EOS, 10], [4, EOS, 10]])
    with recorded_maps(model) as maps:
        model.predict(batch.src, batch.src_mask)
    assert maps[0].weights[0, 0, [2, 4]].tolist() == pytest.approx([0.5, 0.5])


def test_keys_and_values() -> None:
    """A sentence's words but the last decide how much is read, and its last word what."""
    model = story_model(MemoryConfig(d_model=6, n_hops=1, values="last-word", encoding="bag", temporal=False))
    key, value = model.get_submodule("embed.0").weight, model.get_submodule("embed.1").weight
    before = logits(model, stories([TOLD]))
    with torch.no_grad():
        value[[5, 7, 9]] += 1.0  # they are no last words
        torch.testing.assert_close(logits(model, stories([TOLD])), before)
        value[8] += 1.0
        moved = logits(model, stories([TOLD]))
        assert not torch.allclose(moved, before)
        key[5] += 1.0
        assert not torch.allclose(logits(model, stories([TOLD])), moved)


def test_hops_share_what_they_should() -> None:
    """Adjacent: K + 1 tables, the question's is the first; layer-wise: two, and one of the question's own."""
    adjacent, layer_wise = story_model(CONFIGS["memory"]), story_model(CONFIGS["layer-wise"])
    assert adjacent.get_submodule("embed_question") is adjacent.get_submodule("embed.0")
    assert {name.split(".")[0] for name, _ in layer_wise.named_parameters()} >= {"embed_question", "embed"}
    assert [len(list(model.get_submodule("embed").children())) for model in (adjacent, layer_wise)] == [4, 2]


@pytest.mark.parametrize("name", ["memory", "layer-wise", "key-value"])
def test_each_hop_changes_the_question(name: str) -> None:
    """What the second hop reads depends on what the first one read."""
    found = readings(story_model(CONFIGS[name]), TOLD)
    assert found[0] != pytest.approx(found[1], abs=1e-3)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_hops": 0, "update": "add-linear"}, "`update` is of hops, but `n_hops` is 0: leave it out"),
        ({"n_hops": 0, "sharing": "layer-wise"}, "`sharing` is of hops, but `n_hops` is 0: leave it out"),
        ({"n_hops": 0, "values": "last-word"}, "`values` is of hops, but `n_hops` is 0: leave it out"),
        ({"temporal": False, "empty_slots": 0.1}, "`empty_slots` moves memories in time, but `temporal` is false"),
    ],
)
def test_idle_options_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        MemoryConfig.model_validate(settings)
