"""The reader's probabilities by the numbers of the paper's equations, and the words that it can and cannot give."""

from collections.abc import Callable

import pytest
import torch
from tests.gallery.stories import VOCABULARY, logits, stories, story_model
from torch import Tensor

from heedful.gallery.reading import reader
from heedful.gallery.reading.config import ReaderConfig
from heedful.gallery.reading.reader import FLOOR, StoryReader
from heedful.recipe.tables import build_model
from heedful.text.vocabulary import EOS

STORY = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [9.0, 9.0]]  # states of three words and an EOS
QUESTION = [[1.0, 0.0], [0.0, 1.0]]
BOTH = pytest.mark.parametrize("attention", ["over", "sum"])


def config(attention: str) -> ReaderConfig:
    return ReaderConfig.model_validate({"attention": attention, "d_model": 4, "d_hidden": 2, "dropout": 0.0})


def states(of_story: Tensor, of_question: Tensor) -> Callable[..., Tensor]:
    """In place of the recurrent networks: these states, first of the story, then of the question."""
    made = iter([of_story, of_question])

    def recur(_cells: object, x: Tensor, _mask: Tensor) -> Tensor:
        given = next(made)
        return torch.nn.functional.pad(given, (0, 0, 0, x.shape[1] - len(given)))[None]

    return recur


@pytest.mark.parametrize(("attention", "p"), [("over", 0.564249), ("sum", 0.844638)])
def test_by_hand(attention: str, p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word 7 stands first and third: s = .239589 + .324660 of attention over attention. [spec D7]

    Attention sum asks with (1, 0), the last state of the question forward and its first one backward; that is softmax
    (1, 0, 1) on the three words, .422319 twice.
    """
    question = torch.tensor(QUESTION if attention == "over" else [[5.0, 0.0], [1.0, 5.0]], dtype=torch.float64)
    monkeypatch.setattr(reader, "recur", states(torch.tensor(STORY, dtype=torch.float64), question))
    found = logits(story_model(config(attention)), stories([[7, 8, 7, EOS, 9, 10]]))[0].exp()
    assert float(found[7]) == pytest.approx(p, abs=1e-6)
    assert float(found[8]) == pytest.approx(1 - p, abs=1e-6)
    assert float(found.sum()) == pytest.approx(1, abs=1e-6)


@BOTH
def test_only_words_of_the_story_are_likely(attention: str) -> None:
    """Neither those of the question nor EOS, which stands between the sentences."""
    found = logits(story_model(config(attention)), stories([[4, 5, EOS, 6, 4, EOS, 10, 11]]))[0].exp()
    assert (found > 2 * FLOOR).nonzero().flatten().tolist() == [4, 5, 6]
    torch.testing.assert_close(found[[0, 1, 2, 3, 10, 11]], torch.full((6,), FLOOR, dtype=torch.float64))


@BOTH
def test_an_absent_answer_teaches_nothing(attention: str) -> None:
    model = story_model(config(attention))
    batch = stories([[4, 5, EOS, 6, 4, EOS, 10, 11]])
    log_p = logits(model, batch).log_softmax(dim=-1)
    (-log_p[0, 12]).backward()
    for parameter in model.parameters():
        assert parameter.grad is None or parameter.grad.abs().max() < 1e-9
    assert float(log_p[0, 12].detach()) == pytest.approx(torch.tensor(FLOOR).log().item(), abs=1e-4)


@BOTH
def test_without_a_story_all_words_are_alike(attention: str) -> None:
    found = logits(story_model(config(attention)), stories([[10, 9]]))[0]
    torch.testing.assert_close(found, found[:1].expand(VOCABULARY))


@BOTH
def test_unknown_words_are_read_and_asked(attention: str) -> None:
    """UNK is a word like others; all unknown words are one."""
    model = story_model(config(attention))
    told = logits(model, stories([[1, 5, EOS, 6, 1, EOS, 10, 1]]))[0].exp()
    assert (told > 2 * FLOOR).nonzero().flatten().tolist() == [1, 5, 6]


def test_both_sides_have_one_vocabulary() -> None:
    with pytest.raises(ValueError, match="but the vocabularies have 14 and 9 entries: use a joint tokenizer"):
        build_model(config("over"), 14, 9)


def test_widths() -> None:
    with pytest.raises(ValueError, match="`d_hidden` must be even, half for each direction, but is 7"):
        ReaderConfig(attention="over", d_hidden=7)
    assert isinstance(build_model(config("sum"), 9, 9), StoryReader)
