"""`python -m docs.weakness_page`: tables and images of the page on closing the loop, from the stored results.

The results lie in `examples/weakness_to_algorithm/results`; the commands on the page made them. Tables stand between
`<!-- NAME -->` and `<!-- end -->` and are written anew; images go to `docs/figures`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorials" / "from-weakness-to-algorithm.md"
RESULTS = ROOT / "examples" / "weakness_to_algorithm" / "results"
FIGURES = ROOT / "docs" / "figures"
PARTS = {"held-out": "held-out procedures", "new-centre": "new centre"}
ARMS = {"remedy": "#2166ac", "sham": "#999999"}
OUTCOMES = {"mi_dsc": "MI_DSC", "mi_nsd": "MI_NSD", "found": "instances found"}
_BLOCK = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)
_WIDTH, _LEFT, _RIGHT, _ROW = 760, 250, 190, 22


class Bar(NamedTuple):
    """One line of an image: an estimate with its interval."""

    name: str
    value: float
    low: float
    high: float
    colour: str


def read(name: str) -> pl.DataFrame:
    """A stored table."""
    return pl.read_csv(RESULTS / f"{name}.csv")


def interval(row: dict[str, float], value: str = "difference") -> str:
    """A difference in points with its interval."""
    return f"{100 * row[value]:+.1f} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def baselines() -> str:
    """How good the baselines are."""
    rows = read("baselines").filter(metric="mi_dsc")
    parts = {"development": "development, other half", **PARTS}
    listed = []
    for (model,), each in rows.group_by("model", maintain_order=True):
        cells = {row["part"]: f"{row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
                 for row in each.iter_rows(named=True)}  # fmt: skip
        listed.append([str(model), *(cells.get(part, "") for part in parts)])
    return table(["MI_DSC", *parts.values()], listed)


def recipe() -> str:
    """Which finding led to which choice."""
    shares = {row["term"]: row["share"] for row in read("recommendations").iter_rows(named=True)}
    rows = [
        [
            row["property"],
            f"{row['odds_ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})",
            f"{100 * shares[row['property']]:.0f} %",
            row["choice"] + (f": {row['spoiler']}" if row["spoiler"] else ""),
        ]
        for row in read("recipe").with_columns(pl.col("spoiler").fill_null("")).iter_rows(named=True)
    ]
    return table(["property that hurts", "odds ratio", "share of what is lost", "choice that answers it"], rows)


def strengths() -> str:
    """The odds ratio of every answered property for every model."""
    marks = {"weakness": " (weakness)", "strength": " (strength)"}
    cells: dict[str, dict[str, str]] = {}
    for row in read("strengths").iter_rows(named=True):
        cells.setdefault(row["term"], {})[row["model"]] = f"{row['odds_ratio']:.2f}{marks.get(row['verdict'], '')}"
    models = ["greyness", "components", "centres", "queries"]
    return table(["property", *models], [[term, *(each[one] for one in models)] for term, each in cells.items()])


def pixels() -> str:
    """What hurts precision and recall of the pixels of an instance."""
    cells: dict[str, dict[str, str]] = {}
    for row in read("pixels").filter(pl.col("term") != "(Intercept)").iter_rows(named=True):
        ends = f"{row['odds_ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
        cells.setdefault(row["term"], {})[row["outcome"]] = ends + (" *" if row["p_holm"] <= 0.05 else "")
    outcomes = ("precision", "recall")
    return table(["property", *outcomes], [[term, *(each[one] for one in outcomes)] for term, each in cells.items()])


def overall() -> str:
    """Every arm against what it is compared with."""
    rows = [
        [PARTS[row["part"]], OUTCOMES[row["outcome"]], f"{row['arm']} - {row['against']}",
         f"{row['value_against']:.3f}", f"{row['value']:.3f}", interval(row), f"{row['p_value']:.4f}"]
        for row in read("overall").iter_rows(named=True)
    ]  # fmt: skip
    return table(["part", "outcome", "arms", "before", "after", "difference, points", "p"], rows)


def gains() -> str:
    """Gains of remedy and sham where a property holds."""
    head = ["instances with", *(f"{arm}, {part}" for part in PARTS.values() for arm in ARMS)]
    listed: dict[str, dict[tuple[str, str], str]] = {}
    for part in PARTS:
        for arm in ARMS:
            rows = read(f"gains_{part}_{arm}_baseline").filter(pl.col("side") != "without")
            for row in rows.iter_rows(named=True):
                mark = {"better": " *", "worse": " !"}.get(row["verdict"], "")
                listed.setdefault(row["term"], {})[part, arm] = interval(row) + mark
    cells = [[term, *(each.get((part, arm), "") for part in PARTS for arm in ARMS)] for term, each in listed.items()]
    return table(head, cells)


def effects() -> str:
    """Odds ratios before and after."""
    listed: dict[str, dict[str, str]] = {}
    for part in PARTS:
        for row in read(f"effects_{part}_remedy").iter_rows(named=True):
            cell = f"{row['odds_ratio_before']:.2f}, {row['odds_ratio_after']:.2f} ({row['verdict']})"
            listed.setdefault(row["term"], {})[part] = cell
    head = ["property", *(f"{part}: before, after" for part in PARTS.values())]
    return table(head, [[term, *(each.get(part, "") for part in PARTS)] for term, each in listed.items()])


def ablations() -> str:
    """What each choice is worth."""
    head = ["choice", *(f"{OUTCOMES[outcome]}, {part}" for part in PARTS.values() for outcome in ("mi_dsc", "found"))]
    cells: dict[str, dict[tuple[str, str], str]] = {}
    for row in read("ablations").iter_rows(named=True):
        cells.setdefault(row["choice"], {})[row["part"], row["outcome"]] = interval(row)
    rows = [[name, *(each[part, one] for part in PARTS for one in ("mi_dsc", "found"))] for name, each in cells.items()]
    return table(head, rows)


def over_trainings(row: dict[str, float]) -> str:
    """A difference in points with the interval over videos and trainings."""
    return f"{100 * row['difference_all']:+.1f} ({100 * row['low_all']:+.1f} to {100 * row['high_all']:+.1f})"


def second() -> str:
    """Every planned comparison of the second round."""
    head = ["arms", *(f"{OUTCOMES[one]}, {part}" for one in ("mi_dsc", "found") for part in PARTS.values())]
    cells: dict[str, dict[tuple[str, str], str]] = {}
    for row in read("second_overall").iter_rows(named=True):
        cells.setdefault(f"{row['arm']} - {row['against']}", {})[row["outcome"], row["part"]] = over_trainings(row)
    return table(head, [[arms, *(each[one, part] for one in ("mi_dsc", "found") for part in PARTS)]
                        for arms, each in cells.items()])  # fmt: skip


def arms() -> str:
    """How good each arm is, and what it invents."""
    rows = read("second_models").filter(metric="mi_dsc").with_columns(
        arm=pl.col("model").str.replace(r" \d$", ""), trained=pl.lit(1)
    )  # fmt: skip
    means = rows.group_by("arm", "part", maintain_order=True).agg(
        pl.col("value").mean(), pl.col("trained").sum(), invented=pl.col("invented").sum() / pl.col("instances").sum()
    )  # fmt: skip
    cells = {(row["arm"], row["part"]): row for row in means.iter_rows(named=True)}
    named = list(dict.fromkeys(means["arm"]))
    head = ["arm", "trainings", *(f"MI_DSC, {part}" for part in PARTS.values()),
            *(f"invented per 100 instances, {part}" for part in PARTS.values())]  # fmt: skip
    return table(head, [
        [arm, str(cells[arm, "held-out"]["trained"]), *(f"{cells[arm, part]['value']:.3f}" for part in PARTS),
         *(f"{100 * cells[arm, part]['invented']:.0f}" for part in PARTS)] for arm in named
    ])  # fmt: skip


def direct() -> str:
    """Instances found with the properties that the direct remedy answers."""
    answers = ("instance_motion", "instance_touching", "instance_overlapped", "instance_cut")
    head = [
        "instances with",
        *(f"direct - {other}, {part}" for other in ("baseline", "revised") for part in PARTS.values()),
    ]
    cells = {
        (row["term"], other, part): row
        for other in ("baseline", "revised") for part in PARTS
        for row in read(f"second_gains_{part}_direct_{other}").filter(side="with").iter_rows(named=True)
    }  # fmt: skip
    rows = []
    for term in answers:
        each = [(other, part) for other in ("baseline", "revised") for part in PARTS]
        rows.append([term, *(over_trainings(cells[term, *one]) if (term, *one) in cells else "" for one in each)])
    return table(head, rows)


TABLES: dict[str, Callable[[], str]] = {
    one.__name__: one
    for one in (baselines, recipe, strengths, pixels, overall, gains, effects, ablations, second, arms, direct)
}


def page() -> str:
    """The page with its tables written anew."""
    return _BLOCK.sub(
        lambda block: f"<!-- {block[1]} -->\n{TABLES[block[1]]()}\n<!-- end -->", PAGE.read_text(encoding="utf-8")
    )


def drawn(title: str, bars: Sequence[Bar], unit: str) -> str:
    """Estimates with intervals as SVG, the line of no difference dashed."""
    low, high = min(0.0, *(bar.low for bar in bars)), max(0.0, *(bar.high for bar in bars))
    height = _ROW * (len(bars) + 3)

    def at(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="{title}"><rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="8" y="18" font-weight="bold">{title}</text>',
        f'<line x1="{at(0):.1f}" x2="{at(0):.1f}" y1="26" y2="{height - 26}" stroke="#777" stroke-dasharray="4 3"/>',
        f'<text x="{at(0):.1f}" y="{height - 10}" text-anchor="middle" fill="#444">0 {unit}</text>',
    ]
    for place, bar in enumerate(bars):
        y = _ROW * (place + 1.8)
        parts.append(
            f'<g fill="{bar.colour}"><text x="8" y="{y + 4:.1f}">{bar.name}</text>'
            f'<line x1="{at(bar.low):.1f}" x2="{at(bar.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{bar.colour}" '
            f'stroke-width="2"/><circle cx="{at(bar.value):.1f}" cy="{y:.1f}" r="4"/>'
            f'<text x="{_WIDTH - _RIGHT + 16}" y="{y + 4:.1f}">{bar.value:+.1f} ({bar.low:+.1f} to {bar.high:+.1f})'
            "</text></g>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def gain_bars(part: str) -> list[Bar]:
    """Gains of remedy and sham on the instances with each property, in points."""
    tables = {arm: read(f"gains_{part}_{arm}_baseline").filter(pl.col("side") != "without") for arm in ARMS}
    bars = []
    for term in tables["remedy"]["term"]:
        for arm, colour in ARMS.items():
            for row in tables[arm].filter(pl.col("term") == term).drop_nulls(["low", "high"]).iter_rows(named=True):
                name = f"{term} ({arm})" if arm == "remedy" else f"({arm})"
                bars.append(Bar(name, *(100 * row[column] for column in ("difference", "low", "high")), colour))
    return bars


def pictures() -> dict[str, str]:
    """Every image by its file name."""
    title = "Instances found, change against the baseline: "
    return {
        f"weakness-gains-{part}.svg": drawn(title + words, gain_bars(part), "points") for part, words in PARTS.items()
    }


def main() -> None:
    """Write the tables of the page and the images."""
    PAGE.write_text(page(), encoding="utf-8")
    for name, text in pictures().items():
        (FIGURES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
