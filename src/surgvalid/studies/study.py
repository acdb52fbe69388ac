"""A study from a plain table: the verdict, and the page that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.audit.audit import audited, lead
from surgvalid.audit.study_files import study_about
from surgvalid.report.verdict_page import verdict_page
from surgvalid.results.request import requested
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_table import ScoreMatrix, ScoreTable
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.scoring.people import people_on, said_of_people
from surgvalid.stats.verdict.judged_result import JudgedResult
from surgvalid.stats.verdict.study import study_of
from surgvalid.stats.verdict.who_is_better import ModelVerdict, VerdictQuestion


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StudyResult(JudgedResult):
    """Values, differences, patients, hard cases and conditions of one metric, with the verdict in sentences."""

    page = "study.html"

    scores: ScoreTable
    judged: ModelVerdict

    @property
    def metric(self) -> MetricFacts:
        """The metric of the verdict."""
        return self.judged.metric

    @property
    def unit(self) -> str:
        """What is independent, in a word: `patient`, `procedure`, `video` or `case`."""
        return self.judged.unit.word

    @property
    def title(self) -> str:
        """The verdict."""
        return "\n".join(self.verdict)

    @property
    def shown(self) -> pl.DataFrame:
        """The values as a screen shows them."""
        return self.table.select("model", "value", "low", "high", "cases", "videos")

    @property
    def matrix(self) -> ScoreMatrix:
        """The scores of the metric as they count, by the rule for those that are not there."""
        return self.scores.matrix(self.metric.name, missing=self.request.options["missing"])

    @property
    def counted(self) -> pl.DataFrame:
        """A row for each score that counts, with what it counts as and the status that says why it is not its own."""
        made, scores = self.matrix, self.scores.frame.filter(pl.col("metric") == self.metric.name)
        key = ["model", *(name for name in ("task", "case") if name in scores.columns)]
        each = zip(made.models, made.values.T, strict=True)
        rows = pl.concat(made.cases.with_columns(model=pl.lit(model), value=column) for model, column in each)
        rows = rows.join(scores.select(*key, "status"), on=key, how="left", nulls_equal=True).fill_nan(None)
        named = rows.with_columns(pl.col("status").fill_null("missing"), metric=pl.lit(self.metric.name))
        return named.select(name for name in scores.columns if name in named.columns).drop_nulls("value")

    @property
    def cases(self) -> pl.DataFrame:
        """The scores of the metric, case by case."""
        return self.scores.frame.filter(pl.col("metric") == self.metric.name).select("model", "case", "value")

    def html(self) -> str:
        """The verdict page, complete in itself."""
        named = [path.name for _, path in self.request.files]
        return verdict_page(
            self.judged,
            self.tables,
            self.cases,
            prose=self.prose,
            findings=self.findings,
            source=named[0] if len(named) == 1 else "",
        )

    def write(self, folder: Path) -> None:
        """Write the tables, the scores that other verbs read, and the page."""
        super().write(folder)
        self.scores.to_dir(folder)


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
    margin: float | None = None,
    against: str | None = None,
    prior: str | None = None,
    why: bool = False,
) -> StudyResult:
    """Who is better and how sure, from a plain table of scores: long, wide (a column per model), or a file per model.

    The table is audited first: checks that fail stand among the findings, with how many are open. Answers are those of
    the study file (`study.toml`) beside the table, where that names it.

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
        margin: The smallest difference that matters, in the unit of the metric.
        against: A baseline, named beforehand: each other model is compared with it alone, and no others.
        prior: `half-equal`, for the chance that a claim is wrong if half of all pairs of models are equal.
        why: Show the rule, the numbers and the source behind each sentence.

    Raises:
        TableInvalid: Two readings of the columns or of their numbers fit, or none.
        FileUnreadable: A workbook has several sheets and none was named, or a file is no table.
        DirectionUnknown: Nobody said which values are better.

    Example:
        >>> rows = {"patient": list("abcdefgh"), "unet": [.8, .7, .9, .8, .7, .8, .9, .7],
        ...         "swin": [.6, .5, .7, .7, .6, .6, .7, .5]}
        >>> print(study(rows, better="larger").verdict[0])
        unet is better than swin in score by 0.175 (0.133 to 0.200; 8 patients).
    """
    made = study_of(
        table,
        VerdictQuestion(metric, missing, margin=margin, level=level, against=against, prior=prior),
        models=models,
        scores=scores,
        better=better,
        columns=columns,
        sheet=sheet,
        decimal=decimal,
    )
    known = made.verdict.unit.is_known
    noticed = [one for one in made.findings if known or one.code != "few-videos"]  # nobody said what is independent
    return StudyResult(
        tables=made.tables,
        main="values",
        prose=made.prose,
        findings=(*_audit(table, made.scores, made.verdict.metric.name, missing), *noticed),
        scores=made.scores,
        judged=made.verdict,
        why=why,
    )


def _audit(table: Any, scores: ScoreTable, metric: str, missing: Missing) -> list[Finding]:
    """What the audit of the same table sees: how much of it is open, and every check that fails."""
    files = [one for one in (table if isinstance(table, list | tuple) else [table]) if isinstance(one, str | Path)]
    known = study_about(Path(files[0]) if files else None, missing)
    made = audited(replace(known, scores=scores, metric=metric))
    people = said_of_people(people_on(files))
    spoken = f"{lead(Counter(made.tables['checks']['outcome']))} The questions: surgvalid audit."
    first = Finding("audited", Severity.NOTE, spoken, subject="Audit of this table")
    return [first, *people, *(replace(one, severity=Severity.WARNING) for one in made.findings)]
