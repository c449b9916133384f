"""docs/data.md names every data set, and which of them share pairs between train and what is held out."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from heedful.data.check import OVERLAP_ALLOWED
from heedful.data.config import DataConfig
from heedful.data.stats import overlap
from heedful.data.survey import survey
from heedful.recipe import splits

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text("utf-8")
FOLDERS = {  # patterns of names -> where the local copy is
    "babi-*": "babi",
    "ewt-upos": "ud-english-ewt",
    "histnorm-slovene*": "histnorm",
    "multi30k-en-de": "multi30k",
    "multibooked-ca": "multibooked/ca",
    "multibooked-eu": "multibooked/eu",
    "sigmorphon2021-g2p-ita": "sigmorphon2021-g2p",
    "snips-intent": "snips",
    "sst?": "sentence-classification",
    "trec": "sentence-classification",
}


def names_in(text: str) -> list[str]:
    """What stands between backquotes; a name, or a pattern of names."""
    return re.findall(r"`([\w*-]+)`", text)


def test_every_data_set_is_on_the_page() -> None:
    first_cells = [line.split(" | ")[0] for line in PAGE.splitlines() if line.startswith("| `")]
    patterns = [name for cell in first_cells for name in names_in(cell)]
    names = splits.names()
    assert [name for name in names if sum(fnmatchcase(name, pattern) for pattern in patterns) != 1] == []
    assert [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)] == []


def test_overlaps(shared_data: Path) -> None:
    """Those that are named, and no others of the ones with a local copy."""
    named = names_in(PAGE.split("- **Overlap.**")[1].split("To train")[0])
    for name in splits.names():
        folders = [folder for pattern, folder in FOLDERS.items() if fnmatchcase(name, pattern)]
        if not folders:
            continue
        data = DataConfig(catalogue=name, folder=str(shared_data / folders[0]))
        train, *held_out = (survey(split, splits.load_split(data, split)) for split in ("train", "dev", "test"))
        worst = max(overlap(train, found).source / found.pairs for found in held_out)
        assert (worst > OVERLAP_ALLOWED) == any(fnmatchcase(name, pattern) for pattern in named), name
