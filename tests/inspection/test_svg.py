"""The small SVG: well formed, the same each time, complete, and true to the weights."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from tests.inspection.made_up import CJK, RTL, WORD, made_up

from heedful.inspection.colour_scale import LIGHT, css, level
from heedful.inspection.labels import axes, matrix
from heedful.inspection.svg import trace_svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str, kind: str = "label") -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text") if element.get("class") == kind]


@pytest.mark.parametrize("trace", [WORD, CJK, RTL])
@pytest.mark.parametrize("name", ["encoder.0.self", "decoder.1.self", "decoder.1.cross"])
def test_tokens_stand_on_both_axes(trace, name: str) -> None:
    shown = axes(trace, trace.map(name).kind)
    assert texts(trace_svg(trace, name)) == [*shown.rows, *shown.columns]


@pytest.mark.parametrize("trace", [WORD, RTL])
def test_axes_have_titles_and_the_colours_a_scale(trace) -> None:
    svg = trace_svg(trace, "decoder.1.cross")
    assert texts(svg, "muted") == [
        "source (key)",
        "output (query)",
        "attention weight",
        "0",
        "1",
    ]
    bar = [rect for rect in ET.fromstring(svg).findall(f"{SVG}rect") if (rect.get("class") or "").startswith("l")]
    assert [rect.get("fill") for rect in bar] == [css(colour) for colour in LIGHT]
    lefts = [float(rect.attrib["x"]) for rect in bar]
    assert lefts == sorted(lefts)


def test_the_title_names_layer_and_head() -> None:
    (first, *_) = ET.fromstring(trace_svg(WORD, "decoder.1.cross", 1)).iter(f"{SVG}title")
    assert first.text == "Cross-attention, decoder layer 1, head 1: rows attend to columns"


def cells(svg: str) -> dict[tuple[int, int], int]:
    """The level of each coloured cell, by row and by place from the left."""
    found = {}
    for path in ET.fromstring(svg).iter(f"{SVG}path"):
        if (path.get("class") or "").startswith("l"):
            for x, y in re.findall(r"M(\d+) (\d+)h", path.attrib["d"]):
                found[int(y) // 18, int(x) // 18] = int(path.attrib["class"][1:])
    return found


def test_what_is_read_from_right_to_left_begins_at_the_right() -> None:
    weights = matrix(RTL.map("decoder.1.cross"), "mean")
    columns = weights.shape[1]
    expected = {
        (t, columns - 1 - s): level(float(weight)) for (t, s), weight in np.ndenumerate(weights) if level(float(weight))
    }
    assert cells(trace_svg(RTL, "decoder.1.cross")) == expected


def corners(element: ET.Element) -> tuple[float, float, float]:
    """Where a label is anchored, and how far it is turned."""
    moved = re.fullmatch(r"translate\(([\d.]+),([\d.]+)\)rotate\((-?\d+)\)", element.get("transform", ""))
    return tuple(map(float, moved.groups())) if moved else (float(element.get("x", 0)), float(element.get("y", 0)), 0.0)


def test_letters_stand_upright_and_words_rise_in_the_direction_of_reading() -> None:
    letters = made_up(list("عبد"), list("abd"))
    upright = list(ET.fromstring(trace_svg(letters, "decoder.0.cross")).iter(f"{SVG}text"))[4:7]
    assert [e.text for e in upright] == list("عبد")
    assert [corners(e)[2] for e in upright] == [0, 0, 0]
    assert [corners(e)[0] for e in upright] == sorted((corners(e)[0] for e in upright), reverse=True)
    for trace, sign, anchor in ((RTL, 1, "end"), (made_up(["word"] * 3, ["x"]), -1, "start")):
        labels = list(ET.fromstring(trace_svg(trace, "decoder.0.cross")).iter(f"{SVG}text"))
        words = [e for e in labels if e.text in trace.source and e.get("transform")]
        assert len(words) == len(trace.source)
        assert all(corners(e)[2] * sign > 0 and e.get("text-anchor") == anchor for e in words)


def test_each_cell_has_the_colour_of_its_level() -> None:
    root = ET.fromstring(trace_svg(WORD, "decoder.0.cross", 1))
    found = np.zeros((7, 8), dtype=int)
    for path in root.iter(f"{SVG}path"):
        if (path.get("class") or "").startswith("l"):
            step = int(path.attrib["class"][1:])
            assert path.get("fill") == css(LIGHT[step])
            for x, y in re.findall(r"M(\d+) (\d+)h", path.attrib["d"]):
                found[int(y) // 18, int(x) // 18] = step
    weights = matrix(WORD.map("decoder.0.cross"), 1)
    assert found.tolist() == [[level(float(w)) for w in row] for row in weights]


def test_masked_cells_are_hatched_one_stroke_each() -> None:
    (hatch,) = (
        p for p in ET.fromstring(trace_svg(WORD, "decoder.0.self")).iter(f"{SVG}path") if p.get("class") == "hatch"
    )
    strokes = {(int(y) // 18 - 1, int(x) // 18) for x, y in re.findall(r"M(\d+) (\d+)l", hatch.attrib["d"])}
    assert strokes == {(t, s) for t in range(7) for s in range(7) if s > t}
    assert 'class="hatch"' not in trace_svg(WORD, "decoder.0.cross")


def test_the_same_trace_gives_the_same_bytes_and_asks_for_nothing() -> None:
    svg = trace_svg(WORD, "decoder.0.cross")
    assert svg == trace_svg(made_up(list("heedful"), ["HH", "IY", "D", "F", "AH", "L"]), "decoder.0.cross")
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in svg


def test_rows_say_what_they_read_to_those_who_do_not_see_colours() -> None:
    weights = matrix(WORD.map("decoder.0.cross"), 1)[0]
    best = int(weights.argmax())
    row = next(ET.fromstring(trace_svg(WORD, "decoder.0.cross", 1)).iter(f"{SVG}text"))
    title = row.find(f"{SVG}title")
    assert title is not None
    assert (title.text or "").startswith(
        f"<s> → HH attends to {axes(WORD, 'decoder.cross').columns[best]} {weights[best]:.2f}, "
    )


def test_signs_of_markup_in_tokens_stay_text() -> None:
    svg = trace_svg(made_up(["<b>&\"'"], ["</svg>"]), "decoder.0.cross")
    assert texts(svg) == ["<s> → </svg>", "</svg> → </s>", "<b>&\"'", "</s>"]


def test_forty_tokens_stay_small() -> None:
    long = made_up([f"w{i}" for i in range(40)], [f"v{i}" for i in range(40)])
    assert len(trace_svg(long, "decoder.0.cross", 1)) < 40_000
