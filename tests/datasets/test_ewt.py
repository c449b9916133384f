"""Universal Dependencies: the format by hand, and the published files with their documents."""

import gzip
from pathlib import Path

import pytest
from tests.datasets.server import serving

from heedful.data.config import DataConfig
from heedful.data.corpus import Pair
from heedful.datasets import catalogue, ewt
from heedful.datasets.ewt import read_conllu
from heedful.errors import HeedfulError
from heedful.recipe.splits import load_split

REST = "\t_\t_\t_\t_\t_\t_"
SENTENCES = f"""\
# newdoc id = a
# text = I don't.
1\tI\tI\tPRON{REST}
2-3\tdon't\t_\t_{REST}
2\tdo\tdo\tAUX{REST}
3\tn't\tnot\tPART{REST}
3.1\tgo\tgo\tVERB{REST}
4\t.\t.\tPUNCT{REST}

# text = Yes
1\tYes\tyes\tINTJ{REST}
"""


class TestFormat:
    def test_by_hand(self, tmp_path: Path) -> None:
        expected = [Pair("I do n't .", "PRON AUX PART PUNCT"), Pair("Yes", "INTJ")]
        for text in (SENTENCES, SENTENCES + "\n", SENTENCES + "\n\n"):
            (tmp_path / "a.conllu").write_text(text)
            assert list(read_conllu(tmp_path / "a.conllu")) == expected

    def test_wrong_columns(self, tmp_path: Path) -> None:
        (tmp_path / "a.conllu").write_text("# text = I\n1\tI\tI\tPRON\n")
        with pytest.raises(HeedfulError, match=r"a\.conllu:2: 4 column\(s\) instead of 10\.") as caught:
            list(read_conllu(tmp_path / "a.conllu"))
        assert caught.value.hint == "Is it a CoNLL-U file? Its columns are parted by tabs."

    @pytest.mark.parametrize("cells", ["a lot\t_\tDET", "a\t_\t", "\t_\tDET"])
    def test_not_one_word(self, cells: str, tmp_path: Path) -> None:
        (tmp_path / "a.conllu").write_text(f"1\t{cells}{REST}\n")
        with pytest.raises(HeedfulError, match=r"a\.conllu:1: not one word and one tag: `"):
            list(read_conllu(tmp_path / "a.conllu"))


class TestPublished:
    def test_sizes(self, shared_data: Path) -> None:
        """Sentences and words of the release, and 17 tags."""
        data = DataConfig(catalogue="ewt-upos", folder=str(shared_data / "ud-english-ewt"))
        sizes, tags = {}, set()
        for split in ("train", "dev", "test"):
            pairs = list(load_split(data, split))
            assert all(len(pair.source.split()) == len(pair.target.split()) for pair in pairs)
            sizes[split] = len(pairs), sum(len(pair.source.split()) for pair in pairs)
            tags |= {tag for pair in pairs for tag in pair.target.split()}
        assert sizes == {"train": (12_544, 204_577), "dev": (2_001, 25_147), "test": (2_077, 25_094)}
        assert len(tags) == 17

    def test_no_document_is_in_two_splits(self, shared_data: Path) -> None:
        documents = []
        for file in ewt.FILES.values():
            with gzip.open(shared_data / "ud-english-ewt" / f"{file.name}.gz", "rt", encoding="utf-8") as lines:
                documents.append({line for line in lines if line.startswith("# newdoc id")})
        assert sum(map(len, documents)) == len(set.union(*documents)) > 1000

    def test_download(self, shared_data: Path, tmp_path: Path) -> None:
        """Against checksums of the published bytes."""
        with serving() as served:
            for file in ewt.FILES.values():
                content = (shared_data / "ud-english-ewt" / f"{file.name}.gz").read_bytes()
                served.files[f"/{file.name}"] = gzip.decompress(content)
            data = catalogue.get("ewt-upos", cache=tmp_path, base_url=served.url)
            assert len(data.fetch()) == len(served.requests) == 3
            assert len(list(data.read("dev"))) == 2_001
