"""MultiBooked: tags from character offsets by hand, overlaps, and the published files."""

import json
import re
from pathlib import Path

import pytest
from tests.datasets.server import serving

from heedful.data.config import DataConfig
from heedful.data.corpus import Pair
from heedful.datasets import catalogue, multibooked
from heedful.datasets.multibooked import MultiBooked, Span, read_opinions, tagged
from heedful.datasets.published import FileLocation
from heedful.errors import HeedfulError
from heedful.recipe.splits import load_split


def opinion(target: list[str], expression: list[str]) -> dict[str, object]:
    """An opinion with these places; the texts are not read."""
    return {"Source": [[], []], "Target": [["?"], target], "Polar_expression": [["?"], expression]}


class TestFormat:
    @pytest.mark.parametrize(
        ("opinions", "tags"),
        [
            ([], "O O O O O"),
            ([opinion(["0:8"], ["12:20"])], "B-target I-target O B-expression I-expression"),
            ([opinion([], ["12:16"]), opinion([], ["17:20"])], "O O O B-expression B-expression"),
            ([opinion(["0:3", "12:16"], ["9:11"])], "B-target O B-expression B-target O"),
            ([opinion(["1:3"], ["14:18"])], "B-target O O B-expression I-expression"),
            ([opinion(["4:8"], ["12:16"]), opinion(["4:8"], ["17:20"])], "O B-target O B-expression B-expression"),
        ],
        ids=["none", "words", "neighbours", "pieces", "parts of words", "shared"],
    )
    def test_by_hand(self, opinions: list[object], tags: str, tmp_path: Path) -> None:
        sentence = {"sent_id": "a", "text": "the fish is very old", "opinions": opinions}
        (tmp_path / "a.json").write_text(json.dumps([sentence, sentence]))
        first, second = read_opinions(tmp_path / "a.json")
        assert first == second
        assert (first.words, first.tags) == (["the", "fish", "is", "very", "old"], tags.split())
        assert first.left_out == []

    def test_overlaps(self) -> None:
        """The longest, then the first, then the target."""
        words = list("abcdefg")
        spans = [Span(0, 2, "target"), Span(1, 4, "expression"), Span(3, 5, "target"), Span(6, 7, "expression")]
        found = tagged(words, [*spans, Span(6, 7, "target"), Span(4, 5, "target")])
        assert found.tags == ["O", "B-expression", "I-expression", "I-expression", "B-target", "O", "B-target"]
        assert found.left_out == [Span(0, 2, "target"), Span(3, 5, "target"), Span(6, 7, "expression")]
        assert tagged(words, [Span(1, 3, "expression"), Span(0, 2, "expression")]).left_out == [
            Span(1, 3, "expression")
        ]

    @pytest.mark.parametrize(
        "sentence",
        [
            {"opinions": []},
            {"text": "a"},
            {"text": "a", "opinions": [{"Target": [[], []]}]},
            {"text": "a", "opinions": [opinion(["0-1"], [])]},
            {"text": "a", "opinions": [opinion(["5:7"], [])]},
            {"text": 3, "opinions": []},
            "a",
        ],
    )
    def test_not_a_sentence(self, sentence: object, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text(json.dumps([{"text": "a", "opinions": []}, sentence]))
        with pytest.raises(HeedfulError, match=r"a\.json: sentence 2 has no text with opinions in it\.") as caught:
            list(read_opinions(tmp_path / "a.json"))
        assert (caught.value.hint or "").startswith("It has a `text`, and `opinions`")

    @pytest.mark.parametrize(("text", "what"), [("[", "not valid JSON: "), ("{}", r"not a list of sentences\.")])
    def test_not_a_list(self, text: str, what: str, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(HeedfulError, match=rf"a\.json: {what}") as caught:
            list(read_opinions(tmp_path / "a.json"))
        assert caught.value.hint == "Is it the right file?"


class TestPublished:
    @pytest.mark.parametrize("code", ["ca", "eu"])
    def test_every_span_is_tagged_or_counted(self, code: str, shared_data: Path) -> None:
        """Against a count of words by their texts, with other means."""
        folder = shared_data / "multibooked" / code
        data = MultiBooked(f"multibooked-{code}", FileLocation("http://unused", folder, Path("unused")))
        for split in ("train", "dev", "test"):
            pairs = list(data.read(split))
            assert len(pairs) == multibooked.SIZES[code][split]
            tags = [pair.target.split(" ") for pair in pairs]
            assert [len(pair.source.split()) for pair in pairs] == [len(row) for row in tags]
            spans = sum(tag.startswith("B-") for row in tags for tag in row)
            raw = json.loads((folder / f"{split}.json").read_text())
            places = {
                (number, key, place)
                for number, sentence in enumerate(raw)
                for found in sentence["opinions"]
                for key in ("Target", "Polar_expression")
                for place in found[key][1]
            }
            assert spans + data.overlapping(split) == len(places)
            assert data.overlapping(split) == ((code, split) == ("ca", "dev"))

    @pytest.mark.parametrize(("code", "cut"), [("ca", 1), ("eu", 2)])
    def test_reviews_in_two_splits(self, code: str, cut: int, shared_data: Path) -> None:
        """As what the data set says of its groups."""
        splits: dict[str, set[str]] = {}
        for split in ("train", "dev", "test"):
            for sentence in json.loads((shared_data / "multibooked" / code / f"{split}.json").read_text()):
                splits.setdefault(re.sub(r"[-_]\d+(-\d+)?$", "", sentence["sent_id"]), set()).add(split)
        assert sum(len(found) > 1 for found in splits.values()) == cut

    def test_first_sentence(self, shared_data: Path) -> None:
        data = DataConfig(catalogue="multibooked-ca", folder=str(shared_data / "multibooked" / "ca"))
        assert next(iter(load_split(data, "train"))) == Pair("Bona ubicació .", "B-expression B-target O")

    def test_the_other_language(self, shared_data: Path) -> None:
        data = DataConfig(catalogue="multibooked-eu", folder=str(shared_data / "multibooked" / "ca"))
        with pytest.raises(HeedfulError, match=r"train\.json has 1,174 sentences instead of 1,063\.") as caught:
            load_split(data, "train")
        assert caught.value.hint == "The folder is that of one language: is this the Basque one?"

    def test_download(self, shared_data: Path, tmp_path: Path) -> None:
        """Each language from its folder."""
        with serving() as served:
            for split in ("train", "dev", "test"):
                content = (shared_data / "multibooked" / "eu" / f"{split}.json").read_bytes()
                served.files[f"/multibooked_eu/{split}.json"] = content
            data = catalogue.get("multibooked-eu", cache=tmp_path, base_url=f"{served.url}/multibooked_eu")
            assert len(data.fetch()) == len(served.requests) == 3
            assert len(list(data.read("dev"))) == 152
