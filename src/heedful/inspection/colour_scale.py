"""The colour scale of attention weights: viridis, turned so that 0 is the paper in light and in dark.

Knows no weights beyond [0, 1] and no drawing.
"""

import numpy as np
from matplotlib import colormaps

STEPS = 16  # levels 0 .. 16; level 0 is the ground itself
Colour = tuple[int, int, int]


def _sample(name: str, start: float, stop: float, ground: Colour) -> list[Colour]:
    """Return the colour of a level: 0 is the ground, STEPS the far end of the colour map; the first levels fade in from
    the ground.
    """
    shades = colormaps[name](np.linspace(start, stop, STEPS + 1))[:, :3] * 255
    fade = np.clip(np.linspace(0, 1, STEPS + 1) * 2.5, 0, 1)[:, None]
    mixed = np.asarray(ground) * (1 - fade) + shades * fade
    return [(int(r), int(g), int(b)) for r, g, b in mixed.round()]


LIGHT = _sample("viridis_r", 0.05, 0.95, (255, 255, 255))
DARK = _sample("viridis", 0.1, 1.0, (22, 24, 29))


def level(weight: float) -> int:
    """Return the colour level of a weight, 0 to STEPS; weights outside [0, 1] take the nearest end."""
    return int(min(STEPS, max(0, round(float(weight) * STEPS))))


def css(colour: Colour) -> str:
    """Return the colour as #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
