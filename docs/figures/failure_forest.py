"""`python docs/figures/failure_forest.py`: the forest plot of the how-to page, from simulated data, as SVG."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.inference.term_tests import stars

sys.path.append(str(Path(__file__).resolve().parents[2]))
from examples.simulated_instruments import EFFECTS, Simulation

WIDTH, LEFT, RIGHT, ROW = 760, 210, 190, 24
WHERE = {"i": "instrument", "b": "background", "g": "image"}
TICKS = (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8)


def main() -> None:
    """Simulate, fit and draw."""
    frame = Simulation().frame(1)
    units = ["algorithm", "patient", "image", "instance"]
    found = failures(frame, successes="tp", trials="reference", fixed=list(EFFECTS), random=units)
    path = Path(__file__).with_suffix(".svg").with_stem("failure-forest")
    path.write_text(forest(found.table), encoding="utf-8")


def forest(effects: pl.DataFrame) -> str:
    """The odds ratios on a log scale with intervals as SVG, harmful ones at the top."""
    rows = effects.filter((pl.col("term") != "(Intercept)") & pl.col("estimate").is_not_null()).sort("estimate")
    low, high = math.log(min(rows["low"].min(), 0.9)), math.log(max(rows["high"].max(), 1.1))  # type: ignore[type-var]
    height, bottom = ROW * (rows.height + 3), ROW * (rows.height + 1.8)

    def at(ratio: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(ratio) - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'font-size="13" role="img" aria-label="Forest plot of odds ratios">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<g font-weight="bold"><text x="8" y="18">property</text><text x="{WIDTH - RIGHT + 20}" y="18">'
        "odds ratio (95 % interval)</text></g>",
    ]
    for tick in (tick for tick in TICKS if low <= math.log(tick) <= high):
        style = 'stroke="#777" stroke-dasharray="4 3"' if tick == 1 else 'stroke="#e4e4e4"'
        parts.append(f'<line x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="26" y2="{bottom - 12}" {style}/>')
        parts.append(f'<text x="{at(tick):.1f}" y="{bottom + 4}" text-anchor="middle" fill="#444">{tick:g}</text>')
    parts += [_row(row, ROW * (i + 1.6), at) for i, row in enumerate(rows.iter_rows(named=True))]
    side = f'y="{bottom + 22}" fill="#444"'
    parts.append(f'<text x="{at(1) - 12:.1f}" {side} text-anchor="end">&#8592; harms</text>')
    parts.append(f'<text x="{at(1) + 12:.1f}" {side}>helps &#8594;</text></svg>')
    return "\n".join(parts) + "\n"


def _row(row: dict[str, Any], y: float, at: Callable[[float], float]) -> str:
    colour = "#444" if row["p_value"] > 0.05 else "#b2182b" if row["estimate"] < 0 else "#2166ac"
    place, _, what = row["term"].partition("_")
    numbers = f"{row['odds_ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f}) {stars(row['p_value'])}"
    return (
        f'<g fill="{colour}"><text x="8" y="{y + 4:.1f}">{WHERE[place]}: {what}</text>'
        f'<line x1="{at(row["low"]):.1f}" x2="{at(row["high"]):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
        f'stroke="{colour}" stroke-width="2"/><circle cx="{at(row["odds_ratio"]):.1f}" cy="{y:.1f}" r="4.5"/>'
        f'<text x="{WIDTH - RIGHT + 20}" y="{y + 4:.1f}">{numbers}</text></g>'
    )


if __name__ == "__main__":
    main()
