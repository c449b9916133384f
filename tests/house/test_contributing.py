"""CONTRIBUTING.md's examples work as they stand: a score and a kind of position, each held to every law."""

import re
import textwrap
from collections.abc import Sequence

import pytest
import torch
from jaxtyping import Float
from tests.attention import test_scores
from tests.house.source import PACKAGE, ROOT
from tests.layers import test_relative
from tests.models.tiny import PAIRS, batch_of, tiny_model
from torch import Tensor

from heedful.attention import General, MultiHeadAttention, RelativePositions, attend
from heedful.attention.relative import distances
from heedful.evaluation.metric import Item, Metric
from heedful.evaluation.score import score_outputs
from heedful.gallery.family import Member
from heedful.gallery.members import SOFTMAX, SUM

LAWS = [name for name in vars(test_scores.TestEveryScore) if name.startswith("test_")]
LAWS_OF_POSITIONS = [name for name in vars(test_relative.TestEveryKind) if name.startswith("test_")]


def blocks(heading: str) -> list[str]:
    """The Python of a section of the page."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [textwrap.dedent(block) for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL)]


@pytest.fixture
def scope() -> dict:
    """What the section's blocks define, run in their order."""
    score, entry, test, _ = blocks("Add a score function")
    found = {"torch": torch, "Float": Float, "Tensor": Tensor, "General": General, "SCORES": {}}
    for block in (score, entry, test):
        exec(block, found)
    return found


def test_the_entry_of_a_member_is_one() -> None:
    *_, entry = blocks("Add a score function")
    member = Member(*eval(entry, {"SOFTMAX": SOFTMAX, "SUM": SUM}))
    assert (member.name, member.page, member.symbols) == ("euclidean", "scores", ("attention.euclidean",))


def test_a_new_score_works_everywhere(scope: dict) -> None:
    scope["test_euclidean_by_hand"]()
    query = torch.randn(2, 3, 4, 5)
    assert attend(query, query, query, score=scope["euclidean"]).context.shape == query.shape
    attention = MultiHeadAttention(8, 2, score=scope["euclidean"])
    x = torch.randn(2, 4, 8)
    assert attention(x, attention.project(x)).output.shape == x.shape


@pytest.mark.parametrize("law", LAWS)
def test_it_is_held_to_the_laws(scope: dict, law: str) -> None:
    getattr(test_scores.TestEveryScore(), law)(scope["SCORES"]["euclidean"])


def test_there_are_laws() -> None:
    assert len(LAWS) == 5
    assert len(LAWS_OF_POSITIONS) == 6


@pytest.fixture
def penalty() -> RelativePositions:
    """The kind of position of the page."""
    part, _ = blocks("Add a kind of position")
    found = {"Float": Float, "Tensor": Tensor, "RelativePositions": RelativePositions, "distances": distances}
    exec(part, found)
    return found["LogPenalty"]()


@pytest.mark.parametrize("law", LAWS_OF_POSITIONS)
def test_a_new_kind_of_position_is_held_to_the_laws(penalty: RelativePositions, law: str) -> None:
    getattr(test_relative.TestEveryKind(), law)(penalty)


def test_a_new_kind_of_position_works_in_a_model(penalty: RelativePositions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the case of the page, whole = steps."""
    _, case = blocks("Add a kind of position")
    table = f"def parts(config, n_layers, *, causal):\n    match 'log-penalty':\n{textwrap.indent(case, ' ' * 8)}"
    found = {"LogPenalty": lambda: penalty}
    exec(table, found)
    monkeypatch.setattr("heedful.models.transformer.relative_positions", found["parts"])
    model, batch = tiny_model({"positions": "none"}), batch_of(PAIRS)
    assert all(layer.relative is penalty for layer in [*model.encoder, *model.decoder])
    memory = model.encode(batch.src, batch.src_mask)
    whole, state = model.decode(memory, batch.tgt_in), model.start(memory, 1)
    for position in range(batch.tgt_in.shape[1]):
        hidden, state = model.step(state, batch.tgt_in[:, position])
        torch.testing.assert_close(hidden, whole[:, position])


def test_a_new_metric_works_as_it_stands() -> None:
    """A metric of the page counts, from its batch to its interval."""
    (block,) = blocks("Add a metric")
    found: dict = {"Metric": Metric, "Item": Item, "Sequence": Sequence}
    exec(block, found)
    (score,) = score_outputs(["a", "b", "c", "d"], [["x"]] * 4, [found["Copied"]()], sources=["a", "b", "x", "y"])
    assert (score.metric, score.value, score.n) == ("copied", 50.0, 4)


@pytest.mark.parametrize(
    "heading", ["Add a score function", "Add a kind of position", "Add a metric", "Add a format of data", "Add a verb"]
)
def test_files_that_are_named_are_there(heading: str) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    named = [path for path in re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", section) if "NAME" not in path]
    assert named or heading == "Add a verb"
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_files_of_the_plan_are_there() -> None:
    """Each file that docs/house.md names, in full or after one of the same room, exists below src/heedful."""
    rows = re.findall(r"^\| .+ \| (.+) \|$", (ROOT / "docs" / "house.md").read_text("utf-8"), re.MULTILINE)
    missing = []
    for row in rows:
        room = ""
        for name in re.findall(r"`([\w/*]+(?:\.py|/))`", row):
            room, _, file = name.rpartition("/") if "/" in name else (room, "", name)
            missing += [] if (ROOT / name).exists() or [*PACKAGE.glob(f"{room}/{file}".lstrip("/"))] else [name]
    assert len(rows) > 20
    assert missing == []
