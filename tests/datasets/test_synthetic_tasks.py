"""Synthetic tasks: right answers, endless supply, splits that share nothing, and a true alignment."""

import pytest

from heedful.datasets.synthetic import task_indices, task_pairs
from heedful.datasets.synthetic_tasks import LexiconTask
from heedful.errors import ConfigError
from heedful.recipe.splits import find_data_set
from heedful.recipe.tables import TASKS


@pytest.mark.parametrize(("name", "answer"), [("copy", list), ("reverse", lambda x: x[::-1]), ("sort", sorted)])
def test_answers(name: str, answer: object) -> None:
    assert callable(answer)
    for pair in task_pairs(TASKS[name], 3, "train", 200):
        assert pair.target.split() == answer(pair.source.split())
        assert 4 <= len(pair.source.split()) <= 16


@pytest.mark.parametrize("name", TASKS)
class TestEveryTask:
    def test_function_of_index_and_seed(self, name: str) -> None:
        task = TASKS[name]
        assert task.pair(10**9, 1) == task.pair(10**9, 1)
        assert len({task.pair(index, seed) for index in range(50) for seed in range(4)}) > 195

    def test_splits_share_no_source(self, name: str) -> None:
        """Whatever their seeds."""
        splits = {
            split: {pair.source for seed in (1, 2) for pair in task_pairs(TASKS[name], seed, split, 300)}
            for split in ("train", "dev", "test")
        }
        assert not splits["train"] & splits["dev"]
        assert not splits["train"] & splits["test"]
        assert not splits["dev"] & splits["test"]

    def test_as_many_as_asked_for(self, name: str) -> None:
        assert len(list(task_pairs(TASKS[name], 1, "dev", 37))) == 37
        indices = list(task_indices(TASKS[name], 1, "test", 20))
        assert [TASKS[name].pair(index, 1) for index in indices] == list(task_pairs(TASKS[name], 1, "test", 20))
        assert {TASKS[name].split(TASKS[name].pair(index, 1).source) for index in indices} == {"test"}


class TestLexicon:
    LEXICON = LexiconTask()

    def test_alignment_explains_every_target_word(self) -> None:
        """Over many sentences each source word always gives the same target words, in the places the alignment says."""
        meanings: dict[str, set[str]] = {}
        for index in range(2000):
            pair = self.LEXICON.pair(index, seed=1)
            source, target = pair.source.split(), pair.target.split()
            links = self.LEXICON.alignment(index, seed=1)
            assert [position for _, position in links] == list(range(len(target)))
            assert {place for place, _ in links} == set(range(len(source)))
            for place, word in enumerate(source):
                translation = " ".join(target[position] for where, position in links if where == place)
                meanings.setdefault(word, set()).add(translation)
        assert len(meanings) == 220
        assert all(len(translations) == 1 for translations in meanings.values())
        assert sum(len(next(iter(translations)).split()) == 2 for translations in meanings.values()) == 20
        assert len({next(iter(translations)) for translations in meanings.values()}) == 220

    def test_words_are_reordered(self) -> None:
        crossing = [self.LEXICON.alignment(index, seed=1) for index in range(200)]
        assert all([place for place, _ in links] != sorted(place for place, _ in links) for links in crossing)


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match="There is no data set `sorted`") as caught:
        find_data_set("sorted")
    assert caught.value.hint == "Did you mean sort?"
    with pytest.raises(ConfigError, match="The synthetic task `copy` has no split `valid`"):
        task_pairs(TASKS["copy"], 1, "valid", 1)
