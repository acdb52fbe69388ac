"""Sharing what an evaluation rests on: the file of sums per video, and a page that says exactly what is in it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from surgvalid.errors import Misuse
from surgvalid.evaluation.result import EvaluationResult
from surgvalid.evaluation.sharing import CELL_SIZE, MINIMUM_CASES, SharedFile, key_path, write_shared
from surgvalid.report.html import made_with, page
from surgvalid.report.section import Note, Point, Points, Prose, ReportTable, Section


def share(
    result: EvaluationResult,
    path: str | Path,
    *,
    site: str,
    minimum_cases: int = MINIMUM_CASES,
    cell_size: int = CELL_SIZE,
    force: bool = False,
) -> Path:
    """Write the sums of every video that `combine` pools over sites, and a page beside them that says what leaves.

    Args:
        result: Of `evaluate` with `share=True`.
        path: A `.parquet` file; the page has its name with `.html`.
        site: What this hospital is called in the file.
        minimum_cases: Videos with fewer cases are left out.
        cell_size: Counts from 1 to below it do not leave; a video is left out of a metric that would give one away.
        force: Replace an earlier file.

    Raises:
        Misuse: The evaluation kept nothing to share, or nothing of it may leave.
        WouldOverwrite: The file exists and `force` is off.
    """
    if result.shareable is None:
        raise Misuse("this evaluation kept nothing to share; evaluate with share=True (--share)")
    path = Path(path)
    shared = write_shared(
        result.shareable, path, site=site, minimum_cases=minimum_cases, cell_size=cell_size, force=force
    )
    path.with_suffix(".html").write_text(share_page(shared, path), encoding="utf-8", errors="replace")
    return path


def share_page(shared: SharedFile, path: Path) -> str:
    """What leaves the hospital, in words and rows."""
    head, frame = shared.head, shared.statistics.frame
    first = frame["video"][0]
    rows = frame.filter(pl.col("video") == first).select(
        "metric",
        "array",
        _joined(pl.col("shape"), " x "),
        _joined(pl.col("numbers").list.head(12), ", "),
        "cases",
    )
    leaves = [
        f"{head['videos']} videos of {head['model']}, {frame['metric'].n_unique()} metrics each: sums and counts over "
        "the whole video, no single case, frame, label, score, time or image.",
        f"The number of cases of each video, a name such as {first} that only this hospital can trace back, and a "
        "keyed hash of which cases were scored, so that models are compared on the same ones.",
        "How many cases were right and wrong, where that is all a score says"
        + (f", for every combination of {', '.join(head['by'])}." if head.get("by") else "."),
        f"The name of the site ({head['site']}), of the model, and the options of each metric (names of classes, say).",
    ]
    small = ", ".join(f"{metric} {count}" for metric, count in head["withheld"].items())
    stays = [
        f"{head['left_out']} videos with fewer than {head['minimum_cases']} cases.",
        f"Every count from 1 to below {head['cell_size']}: "
        + (f"videos that would give one away stay, metric by metric ({small})." if small else "none was so small."),
        f"The key {key_path(path).name}: without it nobody can tell which patient a row is about. Never send it.",
        "Names of videos and files, predictions, references, and everything else that was read.",
    ]
    unshared = [f"{name}: {why}" for name, why in head["unshared"].items()] or ["none"]
    one_patient = (
        "Each row is about one video, so in most studies about one patient. Counts of rare events can single a patient "
        "out for somebody who knows the case. Whether such rows may leave is for your data protection to decide."
    )
    sections = [
        Section(
            "leaves",
            "What leaves this hospital",
            (
                Points("leaves", "In the file", tuple(map(Point, leaves))),
                Points("stays", "What stays", tuple(map(Point, stays))),
                Note(one_patient),
            ),
        ),
        Section("unshared", "Metrics that are not shared", (Points("metrics", "", tuple(map(Point, unshared))),)),
        Section(
            "look",
            "One video, as it is in the file",
            (
                ReportTable(
                    "rows",
                    f"Everything that the file says about {first}",
                    rows,
                    "The first twelve numbers of each array are shown.",
                ),
                Prose(
                    f"The file {path.name} holds {frame.height:,} such rows. It is a Parquet table: look at all of it."
                ),
            ),
        ),
    ]
    if head["counts"]:
        counts = ReportTable("counts", "All counts in the head of the file", pl.DataFrame(head["counts"]))
        sections.append(Section("counts", "Right and wrong cases", (counts,)))
    title = f"What {path.name} gives away"
    return page(title, "Shared statistics", f"site {head['site']}", sections, footer=made_with())


def _joined(column: pl.Expr, between: str) -> pl.Expr:
    """A list of numbers as text."""
    return column.list.eval(pl.element().round(4).cast(pl.String)).list.join(between)
