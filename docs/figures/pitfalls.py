"""`python -m docs.figures.pitfalls`: a small figure for the page of every pitfall, from simulated studies, as SVG.

Each shows numbers of the check's own evidence: in a sound simulated study, and in its twin with the fault planted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import polars as pl
from docs.planted_studies import PLANTED, clean_study

from surgvalid.audit.audit import audited
from surgvalid.audit.study import AuditedStudy

HERE = Path(__file__).parent / "pitfalls"
WIDTH, LEFT, RIGHT, ROW = 640, 250, 90, 22
MOST_ROWS = 7
COLOURS = {"sound": "#1b6e3c", "fault": "#b3261e"}


class Bar(NamedTuple):
    """One row of a figure."""

    label: str
    value: float
    low: float | None
    high: float | None
    kind: str
    """`sound` or `fault`."""


QUANTITIES = {
    "P1.1": "share of videos by center",
    "P1.2": "videos",
    "P1.3": "share of the labels' entropy that the property explains",
    "P1.4": "annotated share of moments",
    "P1.5": "alpha",
    "P1.6": "videos in both",
    "P2.2": "changes of the prediction for each one of the reference",
    "P2.3": "share of rater pairs within",
    "P2.4": "accuracy at a frame rate",
    "P2.6": "accuracy under a tolerance",
    "P2.7": "share of the largest class",
    "P3.1": "value with its interval",
    "P3.2": "rank",
    "P3.3": "difference claimed",
    "P3.4": "share of reported numbers with an interval",
}
"""What of a check's numbers is drawn, by how its name begins."""


def main() -> None:
    """Draw every figure."""
    HERE.mkdir(exist_ok=True)
    sound = clean_study(0)
    for code, plant in PLANTED.items():
        bars = FURTHER[code](sound) if code in FURTHER else evidence_bars(code, sound, plant(sound))
        path = HERE / f"{code.lower().replace('.', '-')}.svg"
        path.write_text(figure(TITLES.get(code) or QUANTITIES[code], list(bars)), encoding="utf-8")


def evidence_bars(code: str, sound: AuditedStudy, faulty: AuditedStudy) -> Iterator[Bar]:
    """The numbers of the evidence in both studies."""
    for kind, study in (("sound", sound), ("fault", faulty)):
        numbers = audited(study, pitfalls=[code]).tables["numbers"]
        chosen = numbers.filter(pl.col("quantity").str.to_lowercase().str.contains(QUANTITIES[code], literal=True))
        for row in chosen.head(MOST_ROWS).to_dicts():
            words = ", ".join(word for word in (row["subject"], row["setting"]) if word)
            yield Bar(f"{words or 'all'} ({kind})", row["value"], row["low"], row["high"], kind)


def by_metric(study: AuditedStudy) -> Iterator[Bar]:
    """Overall accuracy, and recall of the phase that must not be missed."""
    frames = study.tables["frames"].with_columns(right=pl.col("reference") == pl.col("prediction"))
    for model, rows in frames.group_by("model", maintain_order=True):
        critical = rows.filter(pl.col("reference") == "clipping")
        yield Bar(f"{model[0]}, accuracy", _mean(rows), None, None, "sound")
        yield Bar(f"{model[0]}, recall of clipping", _mean(critical), None, None, "fault")


def by_convention(study: AuditedStudy) -> Iterator[Bar]:
    """The same name under two conventions: over moments, and over classes."""
    frames = study.tables["frames"].with_columns(right=pl.col("reference") == pl.col("prediction"))
    for model, rows in frames.group_by("model", maintain_order=True):
        by_class = rows.group_by("reference").agg(pl.col("right").mean())
        yield Bar(f"{model[0]}, over moments", _mean(rows), None, None, "sound")
        yield Bar(f"{model[0]}, over classes", _mean(by_class), None, None, "fault")


def by_report(study: AuditedStudy) -> Iterator[Bar]:
    """One model under aggregations that a paper may have meant."""
    frames = study.tables["frames"].filter(pl.col("model") == "steady")
    frames = frames.with_columns(right=(pl.col("reference") == pl.col("prediction")).cast(pl.Float64))
    videos = frames.group_by("video").agg(pl.col("right").mean())["right"].sort()
    yield Bar("mean over moments", _mean(frames), None, None, "sound")
    yield Bar("lowest video", float(videos[0]), None, None, "fault")
    yield Bar("5th percentile of videos", float(videos.quantile(0.05, "linear") or 0), None, None, "fault")


def _mean(rows: pl.DataFrame) -> float:
    return float(rows["right"].cast(pl.Float64).mean() or 0)  # type: ignore[arg-type]


FURTHER: dict[str, Callable[[AuditedStudy], Iterator[Bar]]] = {
    "P2.1": by_metric,
    "P2.5": by_convention,
    "P3.5": by_report,
}
TITLES = {
    "P2.1": "a high accuracy, and what the clinic asks for",
    "P2.5": "accuracy under two conventions",
    "P3.5": "one model, three numbers that a paper may print",
}


def figure(title: str, bars: Sequence[Bar]) -> str:
    """Dots with intervals, one row each, on one scale."""
    ends = [end for bar in bars for end in (bar.low, bar.value, bar.high) if end is not None]
    low, high = min([0.0, *ends]), max([*ends, 1e-9])
    height = ROW * (len(bars) + 2)

    def at(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    words = "; ".join(f"{bar.label}: {bar.value:.3g}" for bar in bars)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}: {escape(words)}</title>',
        f'<text x="{LEFT}" y="14" font-weight="bold">{escape(title)}</text>',
        f'<line x1="{at(0):.1f}" x2="{at(0):.1f}" y1="{ROW}" y2="{height - 6}" stroke="#999"/>',
    ]
    for place, bar in enumerate(bars):
        y, colour = ROW * (place + 1.8), COLOURS[bar.kind]
        if bar.low is not None and bar.high is not None:
            lines.append(
                f'<line x1="{at(bar.low):.1f}" x2="{at(bar.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" '
                'stroke-width="2"/>'
            )
        mark = f'<circle cx="{at(bar.value):.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
        square = f'<rect x="{at(bar.value) - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
        lines += [
            f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(bar.label)}</text>',
            mark if bar.kind == "sound" else square,
            f'<text x="{WIDTH - RIGHT + 14}" y="{y + 4:.1f}">{bar.value:.3g}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    main()
