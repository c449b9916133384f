"""Blocks in a terminal: hand values, and columns that stay under their headings."""

import torch
from rich.cells import cell_len
from tests.inspection.made_up import CJK, WORD, made_up

from heedful.inspection.colour_scale import DARK, level
from heedful.inspection.terminal import blocks
from heedful.trace import Map, Trace

SMALL = Trace(
    ["ab", "</s>"],
    ["<s>", "x"],
    ["x", "</s>"],
    [-0.1, -0.2],
    [
        Map("decoder.0.cross", torch.tensor([[[0.25, 0.75], [0.0, 0.0]]]), torch.ones(1, 2, 2, dtype=torch.bool)),
        Map("decoder.0.self", torch.tensor([[[1.0, 0.0], [0.5, 0.5]]]), torch.ones(1, 2, 2, dtype=torch.bool).tril()),
    ],
)


def test_a_map_by_hand() -> None:
    assert blocks(SMALL, "decoder.0.cross", 0).split("\n") == [
        "Cross-attention, decoder layer 0, head 0",
        "rows attend to columns",
        "           <",
        "           /",
        "         a s",
        "         b >",
        " <s> → x ▂▂▆▆  0.75 </s>",
        "x → </s>       —",
    ]


def test_what_is_masked_is_hatched() -> None:
    assert " <s> → x ██╱╱  1.00 <s>" in blocks(SMALL, "decoder.0.self", 0).split("\n")


def test_cells_stand_under_their_headings_for_wide_characters_too() -> None:
    size = len(CJK.source)
    ones = Map("encoder.0.self", torch.eye(size)[None], torch.ones(1, size, size, dtype=torch.bool))
    lines = blocks(CJK._replace(maps=[ones]), "encoder.0.self", 0).split("\n")
    label = len("▁今日") + 2 + len(" ")  # two of its characters are two cells wide
    last_characters = [token[-1] for token in CJK.source]
    heading, rows = lines[-size - 1], lines[-size:]
    for place, (character, row) in enumerate(zip(last_characters, rows, strict=True)):
        assert cell_len(row[: row.index("██")]) == label + 2 * place
        assert cell_len(heading[: heading.index(character)]) == label + 2 * place


def test_columns_that_do_not_fit_go_into_further_panels() -> None:
    long = made_up([f"w{i}" for i in range(40)], ["x"])
    text = blocks(long, "decoder.0.cross", "mean", width=60)
    lines = text.split("\n")
    rows = [line for line in lines if "<s> → x" in line]
    assert len(rows) == 3
    assert max(cell_len(line) for line in lines) <= 60
    assert "0." not in rows[0]
    assert "0." in rows[-1]


def test_colour_grounds_carry_the_scale() -> None:
    red, green, blue = DARK[level(0.75)]
    assert f"\x1b[48;2;{red};{green};{blue}m  \x1b[0m" in blocks(SMALL, "decoder.0.cross", 0, colour=True)
    assert "\x1b" not in blocks(WORD, "decoder.0.cross")


def test_long_labels_end_in_an_ellipsis() -> None:
    text = blocks(made_up(["d" * 50], ["t" * 50]), "decoder.0.cross")
    assert "…" in text
    assert max(cell_len(line) for line in text.split("\n")) <= 100
