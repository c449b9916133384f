"""The page in chromium: what it decodes, what it shows for an address, and what mouse and keys do."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
from tests.inspection.browser import run_in_page
from tests.inspection.made_up import CJK, RTL, WORD, made_up

from heedful.inspection.colour_scale import STEPS
from heedful.inspection.labels import axes
from heedful.inspection.page import page

SVG = "{http://www.w3.org/2000/svg}"
PAGE = page([WORD, CJK, RTL], "three sentences")

READ_TABLE = """
const rows = Array.from(document.querySelectorAll("#table tbody tr"), (line) => ({
  texts: Array.from(line.children, (cell) => cell.textContent),
  exact: line.querySelector(".weight") ? line.querySelector(".weight").title : null,
}));
return { caption: document.querySelector("#table caption").textContent, rows };
"""


def test_the_script_decodes_every_weight_and_mask_exactly(tmp_path: Path) -> None:
    script = """
    return data.traces.map((trace) => trace.maps.map((map) => ({
      weights: Array.from(weightsOf(map), shortest), mask: maskOf(map) && Array.from(maskOf(map)),
    })));
    """
    found = run_in_page(PAGE, tmp_path, script)
    for trace, maps in zip([WORD, CJK, RTL], found, strict=True):
        for shown, decoded in zip(trace.maps, maps, strict=True):
            weights = np.array(decoded["weights"], dtype=np.float64).astype(np.float32)
            assert np.array_equal(weights, shown.weights.numpy().ravel())
            mask = np.ones(shown.mask.numel()) if decoded["mask"] is None else np.array(decoded["mask"])
            assert np.array_equal(mask, shown.mask.numpy().ravel())


def test_rounded_weights_say_so(tmp_path: Path) -> None:
    note = run_in_page(
        page([WORD], "", exact_bytes=0), tmp_path, 'return document.getElementById("map-note").textContent;'
    )
    assert "Weights are rounded to 1/255 in this file." in note


def test_the_address_says_what_is_shown_and_the_table_has_the_exact_numbers(tmp_path: Path) -> None:
    address = "#trace=0&map=decoder.1.cross&heads=1&row=2&sort=place"
    found = run_in_page(PAGE, tmp_path, READ_TABLE, address)
    weights = WORD.map("decoder.1.cross").weights[1, 2].numpy()
    assert found["caption"].startswith("IY → D attends to · probability ")
    assert [row["texts"][1] for row in found["rows"]] == WORD.source
    assert np.array_equal(np.array([float(row["exact"]) for row in found["rows"]], dtype=np.float32), weights)


def test_the_mean_of_all_heads_is_the_mean(tmp_path: Path) -> None:
    found = run_in_page(PAGE, tmp_path, READ_TABLE, "#map=encoder.0.self&row=0&sort=place")
    expected = WORD.map("encoder.0.self").weights.mean(0)[0].numpy()
    assert np.allclose([float(row["exact"]) for row in found["rows"]], expected, atol=1e-7)


def test_masked_places_are_called_masked_not_zero(tmp_path: Path) -> None:
    found = run_in_page(PAGE, tmp_path, READ_TABLE, "#map=decoder.0.self&heads=0&row=2&sort=place")
    assert [row["texts"][2] == "masked" for row in found["rows"]] == [False] * 3 + [True] * 4


def test_labels_and_tokens_read_consumed_then_predicted(tmp_path: Path) -> None:
    script = """
    const texts = (chosen) => Array.from(document.querySelectorAll(chosen), (one) => one.textContent);
    return [texts("#rows .label"), texts("#columns .label"), texts("#read .token"), texts("#query .token")];
    """
    rows, columns, read, query = run_in_page(PAGE, tmp_path, script, "#trace=1&map=decoder.0.cross")
    shown = axes(CJK, "decoder.cross")
    assert rows == shown.rows
    assert columns == read == shown.columns
    assert query == CJK.predicted


def test_addresses_are_read_and_written_the_same(tmp_path: Path) -> None:
    canonical = {
        "": "#trace=0&map=decoder.1.cross",
        "#trace=9&map=nonsense&heads=7&row=99": "#trace=0&map=decoder.1.cross",
        "#trace=1&map=encoder.0.self&heads=1&row=3&column=2": "#trace=1&map=encoder.0.self&heads=1&row=3&column=2",
        "#heads=1%2B0&share=50&theme=dark": "#trace=0&map=decoder.1.cross&heads=0%2B1&share=50&theme=dark",
        "#share=3&sort=place&theme=pink": "#trace=0&map=decoder.1.cross&share=10&sort=place",
    }
    script = f"""
    const canonical = (address) => formatState(parseState(address, data.traces));
    return {list(canonical)}.map((address) => [canonical(address), canonical(canonical(address))]);
    """
    assert run_in_page(PAGE, tmp_path, script) == [[once, once] for once in canonical.values()]


def test_mouse_and_keys(tmp_path: Path) -> None:
    script = """
    const steps = [];
    const note = () => steps.push([location.hash, document.querySelector("#table caption").textContent,
      document.querySelectorAll("#links path").length]);
    const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const chip = document.querySelectorAll("#query .token")[3];
    chip.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" })); note();
    document.getElementById("sentence").dispatchEvent(new PointerEvent("pointerleave")); note();
    chip.click(); note();
    press("ArrowDown"); press("ArrowRight"); note();
    press("]"); note();
    press("{"); note();
    press("Escape"); note();
    return steps;
    """
    steps = run_in_page(PAGE, tmp_path, script, "#map=decoder.1.cross&share=100")
    hovered, left, pinned, moved, head, layer, released = steps
    start = "#map=decoder.1.cross&share=100"
    assert hovered[0] == left[0] == start
    assert hovered[1].startswith("D → F attends to")
    assert hovered[2] == 8
    assert left[1] == "Largest weight of each query"
    assert left[2] == 7 * 8
    assert pinned[0] == "#trace=0&map=decoder.1.cross&row=3&share=100"
    assert moved[0] == "#trace=0&map=decoder.1.cross&row=4&column=1&share=100"
    assert moved[1].startswith("F → AH attends to")
    assert head[0] == "#trace=0&map=decoder.1.cross&heads=0&row=4&column=1&share=100"
    assert layer[0] == "#trace=0&map=decoder.0.cross&heads=0&row=4&column=1&share=100"
    assert released[0] == "#trace=0&map=decoder.0.cross&heads=0&share=100"
    assert released[1] == "Largest weight of each query"


def test_hovering_a_cell_tells_its_exact_weight(tmp_path: Path) -> None:
    script = """
    const box = document.getElementById("cells").getBoundingClientRect();
    const [clientX, clientY] = [box.left + 2.5 * now.cell, box.top + 1.5 * now.cell];
    const move = new PointerEvent("pointermove", { clientX, clientY, bubbles: true, pointerType: "mouse" });
    document.getElementById("plane").dispatchEvent(move);
    const tip = document.getElementById("tip");
    return [tip.hidden, tip.querySelector("b").textContent, tip.querySelector("span").textContent];
    """
    hidden, weight, text = run_in_page(PAGE, tmp_path, script, "#map=decoder.1.cross&heads=1")
    assert not hidden
    assert np.float32(weight) == WORD.map("decoder.1.cross").weights[1, 1, 2].numpy()
    assert text == "HH → IY attends to e"


def test_the_largest_weights_reach_the_share_and_not_one_more(tmp_path: Path) -> None:
    script = """
    const entries = [0.1, 0.5, 0.3, 0.1].map((weight, place) => ({ place, weight, allowed: true }));
    const places = (share) => largest(entries, share).map((entry) => entry.place);
    return [places(0.5), places(0.6), places(0.8), places(0.9), places(1), largest([{ place: 0, weight: 0 }], 1)];
    """
    assert run_in_page(PAGE, tmp_path, script) == [[1], [1, 2], [1, 2], [1, 2, 0], [1, 2, 0, 3], []]


def test_the_csv_has_labels_exact_numbers_and_nothing_where_masked(tmp_path: Path) -> None:
    script = "return csvOf(now.matrix, now.labels.rows, now.labels.columns);"
    text = run_in_page(PAGE, tmp_path, script, "#map=decoder.0.self&heads=1")
    lines = [line.split(",") for line in text.removesuffix("\r\n").split("\r\n")]
    assert lines[0][1:] == [f'"{token}"' for token in WORD.consumed]
    weights = WORD.map("decoder.0.self").weights[1].numpy()
    for t, line in enumerate(lines[1:]):
        assert np.array_equal(np.array(line[1 : t + 2], dtype=np.float32), weights[t, : t + 1])
        assert line[t + 2 :] == [""] * (6 - t)


def test_the_svg_it_saves_has_the_tokens_and_a_stroke_for_each_masked_cell(tmp_path: Path) -> None:
    script = """
    return svgOf(now.matrix, { ...drawing(), name: "a & b" }, data.scale.light.map(rgbOf));
    """
    root = ET.fromstring(run_in_page(PAGE, tmp_path, script, "#trace=2&map=decoder.0.self&heads=1"))
    shown = axes(RTL, "decoder.self")
    texts = list(root.iter(f"{SVG}text"))
    assert [one.text for one in texts if one.get("class") == "label"] == [*shown.rows, *shown.columns]
    assert [one.text for one in texts if one.get("class") != "label"] == [
        "output tokens so far (keys)",
        "output token → the one predicted next (query)",
        "attention weight 0",
        "1",
    ]
    assert len([one for one in root.iter(f"{SVG}rect") if one.get("class") == "scale"]) == STEPS + 1
    assert len(list(root.iter(f"{SVG}path"))) == 4 * 3 // 2
    assert root[0].text == "a & b"


def test_one_layer_with_one_head_has_no_mean_to_choose(tmp_path: Path) -> None:
    script = "return [document.querySelectorAll('.thumb').length, document.getElementById('map-name').textContent];"
    one = made_up(["a"], ["b"], n_heads=1, n_layers=1)
    assert run_in_page(page([one], ""), tmp_path, script) == [1, "Cross-attention, decoder layer 0 · its only head"]


def test_a_trace_of_empty_sides_is_shown(tmp_path: Path) -> None:
    script = "return Array.from(document.querySelectorAll('#rows .label'), (one) => one.textContent);"
    assert run_in_page(page([made_up([], [])], ""), tmp_path, script) == ["<s> → </s>"]
