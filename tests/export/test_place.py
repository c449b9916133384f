"""Two exports at once do not mix, and a model is compared as it was trained, whatever its recipe searches in."""

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest
from tests.pipeline.little import untrained_bundle

from heedful.errors import ConfigError
from heedful.export.output_folder import prepared_place, put_in_place
from heedful.records.checksums import write_checksums

PAIRS = [("abc de", "cba ed"), ("fghi", "ihgf"), ("jk", "kj")]


class Agreed:
    """A parity that holds."""

    def check(self, what: str) -> None:
        """Nothing is wrong."""


def write(out: Path, name: str, begun: object, other: object) -> None:
    """Fill a place with one file while another process does the same."""
    with prepared_place(out) as partial:
        (partial / name).write_text(name)
        begun.set()  # pyright: ignore[reportAttributeAccessIssue]
        other.wait(60)  # pyright: ignore[reportAttributeAccessIssue]
        put_in_place(partial, out, Agreed())  # pyright: ignore[reportArgumentType]


def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    out, context = tmp_path / "out", get_context("spawn")
    events = [context.Event(), context.Event()]
    processes = [context.Process(target=write, args=(out, f"file{n}", events[n], events[1 - n])) for n in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert sorted(process.exitcode == 0 for process in processes) == [False, True]
    assert len(list(out.iterdir())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_place_that_was_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with prepared_place(out) as partial:
        out.mkdir()
        (out / "theirs").write_text("kept")
        with pytest.raises(ConfigError, match="was made by somebody else meanwhile"):
            put_in_place(partial, out, Agreed())  # pyright: ignore[reportArgumentType]
    assert (out / "theirs").read_text() == "kept"


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_the_original_is_compared_in_float32(precision: str, tmp_path: Path, heedful: Callable) -> None:
    bundle = untrained_bundle(tmp_path / "model", PAIRS)
    recipe = bundle / "recipe.toml"
    before, search = recipe.read_text().split("[search]")
    assert 'precision = "float32"' in search
    changed = search.replace('precision = "float32"', f'precision = "{precision}"', 1)
    recipe.write_text(f"{before}[search]{changed}")
    (bundle / "SHA256SUMS").unlink()  # it was changed on purpose
    write_checksums(bundle)
    dev = tmp_path / "dev.txt"
    dev.write_text("abc\nde f\n\njk\n")
    outcome = heedful("export", str(bundle), str(tmp_path / "out"), "--to", "ctranslate2", "--dev", str(dev))
    assert outcome.code == 0, outcome.err
    assert "4 of 4 texts equal" in outcome.out
