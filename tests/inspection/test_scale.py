"""The colour scale: 0 is the paper, and more weight is always further from it."""

import pytest

from heedful.inspection.colour_scale import DARK, LIGHT, STEPS, Colour, css, level


def luminance(colour: Colour) -> float:
    """Relative luminance of sRGB [WCAG 2.1]."""
    parts = [v / 255 for v in colour]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_light_darkens_and_dark_lightens_at_every_step() -> None:
    light, dark = [luminance(c) for c in LIGHT], [luminance(c) for c in DARK]
    assert len(light) == len(dark) == STEPS + 1
    assert light == sorted(light, reverse=True)
    assert len(set(light)) == len(light)
    assert dark[1:] == sorted(dark[1:])
    assert LIGHT[0] == (255, 255, 255)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_a_weight_of_one_stands_out_from_zero(colours: list[Colour]) -> None:
    low, high = sorted([luminance(colours[0]), luminance(colours[-1])])
    assert (high + 0.05) / (low + 0.05) > 7  # WCAG's strictest contrast


@pytest.mark.parametrize(("weight", "step"), [(0, 0), (0.03, 0), (0.04, 1), (0.5, 8), (1, 16), (1.5, 16), (-0.2, 0)])
def test_levels(weight: float, step: int) -> None:
    assert level(weight) == step


def test_css() -> None:
    assert css((255, 0, 16)) == "#ff0010"
