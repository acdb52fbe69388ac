"""What surfaces are made of: rows of one table, in the order in which the kernels of light read them.

The materials are data, in the TOML file beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.schema.documents import read_toml
from surgvalid.simulation.timelines import Floats

Row = Floats
Colour = Sequence[float]


def light_of(colour: Colour) -> Row:
    """The share of light that a surface of this colour, 0 to 255 as on a screen, gives back."""
    return np.round((np.asarray(colour, dtype=np.float64) / 255) ** 2, 9)


_DATA = read_toml(Path(__file__).with_suffix(".toml"))
_USUAL = _DATA["usual"]


def _row(about: Mapping[str, Any]) -> Row:
    model = (_DATA["organs"] | _DATA["objects"]).get(about.get("like"), {})
    whole = _USUAL | {"second": about["first"]} | model | about
    return np.hstack([light_of(whole[key]) if isinstance(whole[key], list) else whole[key] for key in _USUAL])


ORGANS = {name: _row(about) for name, about in _DATA["organs"].items()}
"""Tissue by name, as it is in health."""
OBJECTS = {name: _row(about) for name, about in _DATA["objects"].items()}
"""What is brought in, before it has its own colour."""
NAMED: dict[str, Colour] = _DATA["named"]
"""Colours as attributes and questions name them."""


def coloured(row: Row, first: Colour) -> Row:
    """The same surface in another colour."""
    painted = row.copy()
    painted[0:3] = light_of(first)
    painted[3:6] = light_of([0.88 * level for level in first])
    return painted


def changed(row: Row, **columns: float) -> Row:
    """The same surface with another relief (8), soak (16), line (17) or seed (21), by their names."""
    painted = row.copy()
    for name, value in columns.items():
        painted[{"relief": 8, "soak": 16, "line": 17, "seed": 21}[name]] = value
    return painted
