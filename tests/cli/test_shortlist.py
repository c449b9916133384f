"""`heedful shortlist` on a little run: what it writes, what it says, and that it is used."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.little import little_run

from heedful.data.store import open_store
from heedful.pipeline.load import load
from heedful.records.run import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return little_run(tmp_path_factory.mktemp("run"))


def test_is_written_and_used(run: Path, tmp_path: Path, heedful: Callable) -> None:
    (tmp_path / "text").write_text("a b c\nd\n\nf e\n")
    asked = ("translate", str(run), str(tmp_path / "text"), "--shortlist")
    refused = heedful(*asked)
    assert (refused.code, refused.out) == (2, "")
    assert "this model has none.\nhint: Make one: heedful shortlist RUN." in refused.err

    outcome = heedful("shortlist", str(run), "--k", "2", "--frequent", "1", "--json")
    assert outcome.code == 0, outcome.err
    facts = json.loads(outcome.out)
    assert 4 < facts["candidates"] < len(load(run).tokenizers.target)
    assert 0 <= facts["missing"] < 1
    found = heedful(*asked)
    assert (found.code, found.err) == (0, "")
    loaded = load(run)
    assert loaded.backend.shortlist is not None
    shown = [one.text for one in loaded.with_search({"shortlist": True}).translate(["a b c", "d", "", "f e"])]
    assert found.out == "".join(f"{text}\n" for text in shown)

    text = heedful("shortlist", str(run), "--k", "2", "--frequent", "1").out
    assert f"{facts['candidates']:.0f} of {len(loaded.tokenizers.target):,} target tokens" in text
    assert f"{100 * facts['missing']:.2f} %" in text


def test_what_is_missing_of_dev(run: Path, heedful: Callable) -> None:
    """Counted anew, token by token."""
    facts = json.loads(heedful("shortlist", str(run), "--k", "1", "--frequent", "0", "--json").out)
    shortlist = load(run).backend.shortlist
    assert shortlist is not None
    dev = open_store(run / "data" / "dev")
    tokens = missing = candidates = 0
    for source, target in (dev.ids(index) for index in range(len(dev))):
        allowed = {0, 1, 2, 3} | {one for token in source for one in shortlist.candidates(token)}
        candidates += len(allowed)
        tokens += len(target)
        missing += sum(token not in allowed for token in target)
    assert (facts["candidates"], facts["missing"]) == pytest.approx((candidates / len(dev), missing / tokens))


def test_evaluation_says_so_in_its_signature(run: Path, heedful: Callable) -> None:
    heedful("shortlist", str(run))
    assert heedful("evaluate", str(run), "--split", "dev", "search.shortlist=true").code == 0
    rows = [row for row in Run.open(run).read_results() if row.split == "dev" and row.signature]
    assert any("shortlist=True" in row.decode for row in rows)


def test_stays_when_checkpoints_are_averaged(run: Path, heedful: Callable) -> None:
    heedful("shortlist", str(run), "--k", "3")
    before = load(run).backend.shortlist
    assert heedful("average", str(run), "--last", "1").code == 0
    after = load(run).backend.shortlist
    assert before is not None
    assert after is not None
    assert after.likely.equal(before.likely)


def test_needs_a_finished_run(tmp_path: Path, run: Path, heedful: Callable) -> None:
    missing = heedful("shortlist", str(tmp_path))
    assert missing.code == 2
    assert "is no run directory" in missing.err
    (tmp_path / "config.resolved.toml").write_text((run / "config.resolved.toml").read_text())
    unfinished = heedful("shortlist", str(tmp_path))
    assert unfinished.code == 1
    assert (
        f"The run {tmp_path} has no model yet.\nhint: Finish it with: heedful train --resume {tmp_path}"
        in unfinished.err
    )


def test_of_other_ids_is_refused(tmp_path: Path, run: Path, heedful: Callable) -> None:
    other = little_run(tmp_path, "tokenizer.source.lowercase=true")
    (other / "model").rename(tmp_path / "aside")
    (run / "model").rename(other / "model")
    try:
        outcome = heedful("shortlist", str(other))
    finally:
        (other / "model").rename(run / "model")
    assert outcome.code == 1
    assert "was encoded by other tokenizers than those of" in outcome.err
