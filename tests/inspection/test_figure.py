"""Figures: the panels asked for, the labels, the masks, the same bytes, and honest labels where no font helps."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PatchCollection
from tests.inspection.made_up import CJK, RTL, WORD, made_up

from heedful.errors import ConfigError, HeedfulError
from heedful.inspection.figure import draw_heads, save_figure
from heedful.inspection.labels import axes, matrix
from heedful.trace import Trace


def test_a_panel_for_every_head_with_its_weights() -> None:
    figure = draw_heads(WORD, "decoder.0.cross", [1, "mean"])
    panels = [axis for axis in figure.axes if axis.images]
    assert [panel.get_xlabel() for panel in panels] == ["head 1", "mean of heads"]
    for panel, head in zip(panels, [1, "mean"], strict=True):
        assert np.array_equal(panel.images[0].get_array(), matrix(WORD.map("decoder.0.cross"), head))
        assert panel.images[0].get_clim() == (0, 1)
    shown = axes(WORD, "decoder.cross")
    assert [label.get_text() for label in panels[0].get_yticklabels()] == shown.rows
    assert [label.get_text() for label in panels[0].get_xticklabels()] == shown.columns


def test_axes_and_colour_bar_are_named() -> None:
    figure = draw_heads(WORD, "decoder.1.cross", [0])
    assert figure.get_suptitle() == "Cross-attention, decoder layer 1"
    assert figure.get_supxlabel() == "source (key)"
    assert figure.get_supylabel() == "output (query)"
    assert "attention weight" in [axis.get_ylabel() for axis in figure.axes]


def test_right_to_left_columns_begin_at_the_right_with_the_rows_labels() -> None:
    panels = [axis for axis in draw_heads(RTL, "decoder.0.cross", [0, 1]).axes if axis.images]
    assert all(panel.xaxis_inverted() for panel in panels)
    assert not any(panel.xaxis_inverted() for panel in draw_heads(WORD, "decoder.0.cross", [0, 1]).axes if panel.images)
    assert all(0 < label.get_rotation() - 270 < 90 for label in panels[0].get_xticklabels())  # falls to the right


def test_letters_are_not_turned() -> None:
    (panel,) = (axis for axis in draw_heads(WORD, "decoder.0.cross", [0]).axes if axis.images)
    assert [label.get_rotation() for label in panel.get_xticklabels()][:-1] == [0.0] * len("heedful")


def test_masked_cells_are_hatched() -> None:
    (panel,) = (axis for axis in draw_heads(WORD, "decoder.0.self", [0]).axes if axis.images)
    (hatched,) = (c for c in panel.collections if isinstance(c, PatchCollection))
    assert len(hatched.get_paths()) == 7 * 6 // 2
    assert hatched.get_hatch()


@pytest.mark.parametrize("suffix", ["svg", "png"])
@pytest.mark.parametrize("trace", [WORD, CJK, RTL], ids=["latin", "cjk", "rtl"])
def test_the_same_trace_gives_the_same_file(tmp_path: Path, trace: Trace, suffix: str) -> None:
    for name in ("a", "b"):
        save_figure(trace, "decoder.0.cross", ["mean"], tmp_path / f"{name}.{suffix}")
    first, second = (tmp_path / f"{name}.{suffix}" for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a.{suffix}", f"b.{suffix}"]


def test_svg_text_is_text(tmp_path: Path) -> None:
    save_figure(WORD, "decoder.0.cross", [0, 1], tmp_path / "map.svg")
    found = [
        "".join(e.itertext()).strip() for e in ET.parse(tmp_path / "map.svg").iter("{http://www.w3.org/2000/svg}text")
    ]
    assert set(axes(WORD, "decoder.cross").rows) <= set(found)


def test_a_character_in_no_font_is_written_as_its_code_point() -> None:
    figure = draw_heads(made_up(["\U000f0000x"], ["y"]), "decoder.0.cross", [0])
    (panel,) = (axis for axis in figure.axes if axis.images)
    assert panel.get_xticklabels()[0].get_text() == "⟨U+F0000⟩x"


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"map\.gif ends neither in \.png nor in \.svg\."):
        save_figure(WORD, "decoder.0.cross", [0], tmp_path / "map.gif")


def test_what_cannot_be_replaced_is_an_error_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "map.png").mkdir()
    with pytest.raises(HeedfulError, match=r"map\.png"):
        save_figure(WORD, "decoder.0.cross", [0], tmp_path / "map.png")
    assert [path.name for path in tmp_path.iterdir()] == ["map.png"]


def test_sixty_tokens_and_eight_heads_fit_one_figure() -> None:
    long = made_up([f"w{i}" for i in range(60)], [f"v{i}" for i in range(60)], n_heads=8, n_layers=1)
    width, height = draw_heads(long, "decoder.0.cross", range(8)).get_size_inches()
    assert width < 45
    assert height < 45
