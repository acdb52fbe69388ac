"""`python docs/figures/failure_forest.py`: the forest plot of the how-to page, from simulated data, as SVG."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl

from surgeval.stats.mixed.failures import failures
from surgeval.stats.mixed.simulated import EFFECTS, Simulation
from surgeval.stats.mixed.symbols import stars

WIDTH, LEFT, ROW = 720, 190, 24


def main() -> None:
    """Simulate, fit and draw."""
    frame = Simulation().frame(1)
    units = ["algorithm", "patient", "image", "instance"]
    found = failures(frame, successes="tp", trials="reference", fixed=list(EFFECTS), random=units)
    path = Path(__file__).with_suffix(".svg").with_stem("failure-forest")
    path.write_text(forest(found.table), encoding="utf-8")


def forest(effects: pl.DataFrame) -> str:
    """The log odds ratios with intervals as SVG, harmful ones at the top."""
    rows = effects.filter((pl.col("term") != "(Intercept)") & pl.col("estimate").is_not_null()).sort("estimate")
    reach = max(abs(math.log(v)) for v in [*rows["ci_low"], *rows["ci_high"]])
    height = ROW * (rows.height + 2)

    def at(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 60) * (value + reach) / (2 * reach)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'font-size="13" role="img" aria-label="Forest plot of log odds ratios">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<line x1="{at(0):.1f}" x2="{at(0):.1f}" y1="8" y2="{height - ROW}" stroke="#999" stroke-dasharray="4 3"/>',
    ]
    for i, row in enumerate(rows.iter_rows(named=True)):
        parts.append(_row(row, ROW * (i + 1), at))
    for value in (0.5, 0.75, 1, 1.25, 1.5):
        if abs(math.log(value)) <= reach:
            parts.append(f'<text x="{at(math.log(value)):.1f}" y="{height - 8}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<text x="8" y="{height - 8}">odds ratio (95 % interval)</text></svg>')
    return "\n".join(parts) + "\n"


def _row(row: dict[str, float], y: float, at: object) -> str:
    place = at  # a function from log odds ratio to horizontal position
    low, high, center = (place(math.log(row[k])) for k in ("ci_low", "ci_high", "odds_ratio"))  # type: ignore[operator]
    colour = "#444" if row["p_value"] > 0.05 else "#b2182b" if row["estimate"] < 0 else "#2166ac"
    return (
        f'<text x="8" y="{y + 4}" fill="{colour}">{row["term"]} {stars(row["p_value"])}</text>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
        f'<circle cx="{center:.1f}" cy="{y}" r="4.5" fill="{colour}"/>'
    )


if __name__ == "__main__":
    main()
