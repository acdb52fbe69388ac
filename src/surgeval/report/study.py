"""A study from a plain table: the verdict, and the page that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.report.charts._marks import level_words
from surgeval.report.html import made_with, page, write_if_drawn
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.sections._pictures import picture
from surgeval.results.request import requested
from surgeval.results.result import Result
from surgeval.schema.findings import Severity
from surgeval.schema.metric_facts import MetricFacts
from surgeval.schema.missing import Missing
from surgeval.schema.score_table import ScoreTable
from surgeval.schema.table_facts import Directions
from surgeval.scoring.study import study_of

PAGE = "study.html"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StudyResult(Result):
    """Values, differences, patients, hard cases and conditions of one metric, with the verdict in sentences."""

    scores: ScoreTable
    verdict: tuple[str, ...]
    """Who is better and how sure, by how much, what more data would show."""
    metric: MetricFacts
    unit: str
    """What is independent, in a word: `patient`, `procedure`, `video` or `case`."""

    @property
    def title(self) -> str:
        """The verdict."""
        return "\n".join(self.verdict)

    @property
    def shown(self) -> pl.DataFrame:
        """The values as a screen shows them."""
        return self.table.select("model", "value", "low", "high", "cases", "videos")

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The values below the verdict."""
        return {self.title: self.shown}

    def facts(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {"verdict": list(self.verdict)}

    def html(self) -> str:
        """The verdict page, complete in itself.

        Raises:
            ExtraNeeded: The packages that draw are not installed.
        """
        size = self.tables["values"]
        cases = max(size["cases"].to_list())
        facts = f"{size.height:,} model{'s' if size.height > 1 else ''} · {cases:,} cases · {self._units}"
        return page(self.verdict[0], "Study", facts, _sections(self), footer=made_with())

    @property
    def _units(self) -> str:
        if not self.scores.has_videos:
            return "no patients named"
        return f"{max(self.tables['values']['videos'].to_list()):,} {self.unit}s"

    def write(self, folder: Path) -> None:
        """Write the tables, the scores that other verbs read, and the page where pictures can be drawn."""
        super().write(folder)
        self.scores.to_dir(folder)
        write_if_drawn(folder / PAGE, self.html)


@requested("study")
def study(
    table: Any,
    *,
    models: Sequence[str] = (),
    scores: Sequence[str] = (),
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
    sheet: str | None = None,
    decimal: str | None = None,
    level: float = 0.95,
) -> StudyResult:
    """Who is better and how sure, from a plain table of scores: long, wide (a column per model), or a file per model.

    Args:
        table: A `ScoreTable`, anything tabular, or CSV, Excel or Parquet files.
        models: Columns that are models, where their names leave it open.
        scores: Columns that are metrics, where their names leave it open.
        metric: The metric of the verdict, where there are several.
        better: `larger` or `smaller`, where the name of the metric does not say it.
        missing: What a score that is not there counts as, as for `interval`.
        columns: Our column names to theirs; what is said here is not guessed.
        sheet: Of a workbook with several.
        decimal: What stands before decimals, `comma` or `point`, where a column leaves open which number 1,234 is.
        level: Coverage of the intervals.

    Raises:
        TableInvalid: Two readings of the columns or of their numbers fit, or none.
        FileUnreadable: A workbook has several sheets and none was named, or a file is no table.
        DirectionUnknown: Nobody said which values are better.

    Example:
        >>> rows = {"patient": list("abcdefgh"), "unet": [.8, .7, .9, .8, .7, .8, .9, .7],
        ...         "swin": [.6, .5, .7, .7, .6, .6, .7, .5]}
        >>> print(study(rows, better="larger").verdict[0])
        unet is better than swin.
    """
    made = study_of(
        table, models=models, scores=scores, metric=metric, better=better, missing=missing, columns=columns,
        sheet=sheet, decimal=decimal, level=level,
    )  # fmt: skip
    return StudyResult(
        tables=made.tables, main="values", prose=made.prose, findings=made.findings, scores=made.scores,
        verdict=made.verdict, metric=made.facts, unit=made.unit,
    )  # fmt: skip


def _sections(result: StudyResult) -> list[Section]:
    tables, metric = result.tables, result.metric
    up = metric.sign > 0
    warned = [Note(one.text) for one in result.findings if one.severity is not Severity.NOTE]
    notes = [Prose(one.text) for one in result.findings if one.severity is Severity.NOTE]
    values = tables["values"].with_columns(n="videos")
    unit = f"{result.unit}s"
    estimand = f"{metric.name} ({'larger' if up else 'smaller'} is better)"
    first: list[Block] = [Prose(sentence) for sentence in result.verdict[1:]]
    title = f"Values with {level_words(values)}"
    shown = {"title": title, "estimand": estimand, "unit": unit, "largest_is_best": up}
    first += [picture("value_intervals", values, **shown), *warned]
    sections = [Section("verdict", "How sure that is", tuple(first))]
    if tables["pairs"].height:
        drawn = picture("difference_intervals", tables["pairs"], title=f"How far {values['model'][0]} is ahead")
        sections.append(Section("differences", "By how much", (drawn, _table("pairs", "Differences", tables["pairs"]))))
    patients = picture("patient_values", tables["patients"], metric=metric.name, unit=unit[:-1], largest_is_best=up)
    sections.append(Section("patients", f"{unit.capitalize()} one by one", (patients,)))
    hard = Table(
        "hard-cases", "Hardest for the typical model", tables["hard_cases"], "Median over models, worst first."
    )
    sections.append(Section("cases", "Which cases are hard", (hard,)))
    if "strata" in tables:
        drawn = picture("strata_deltas", tables["strata"])
        table = _table("strata", "Values by condition", tables["strata"])
        sections.append(Section("conditions", "Under which conditions", (drawn, table)))
    taken = tuple(Prose(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in tables["readings"]["sentence"])
    return [
        *sections,
        Section("methods", "Methods, and what was taken for what", (Prose(result.prose), *taken, *notes)),
    ]


def _table(name: str, title: str, frame: pl.DataFrame) -> Table:
    kept = [column for column in frame.columns if frame[column].null_count() < frame.height]
    return Table(name, title, frame.select(kept), folded=True)
