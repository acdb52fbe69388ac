"""A study from a plain table: who is better and how sure, patient by patient, which cases are hard.

Nothing is computed here that a verb of its own does not compute: values are those of `interval`, differences those of
`compare`, conditions those of `strata`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import Misuse, SurgevalError
from surgeval.results.tables import studies as t
from surgeval.schema.findings import Finding, Severity, as_findings
from surgeval.schema.metric_facts import MetricFacts
from surgeval.schema.missing import Missing
from surgeval.schema.plain_tables import PlainTable, plain_table
from surgeval.schema.score_table import ScoreMatrix, ScoreTable
from surgeval.schema.table_facts import Directions
from surgeval.schema.table_files import read_frame
from surgeval.schema.tabular import as_frame
from surgeval.scoring.verdict import listed, verdict
from surgeval.stats.comparison import compare
from surgeval.stats.corrections import adjusted
from surgeval.stats.interval import NO_VIDEO, interval
from surgeval.stats.strata import strata

ALL_PAIRS = 20
"""Models up to which every pair is tested; beyond, pairs of the best one only, corrected for all (Bonferroni)."""
HARD_CASES = 20


class Study(NamedTuple):
    """Tables of one metric, with the verdict in sentences."""

    tables: dict[str, pl.DataFrame]
    """`values` (the best model first), `pairs`, `patients`, `hard_cases`, `strata` where there are any, `readings`."""
    verdict: tuple[str, ...]
    prose: str
    findings: tuple[Finding, ...]
    scores: ScoreTable
    facts: MetricFacts


def study_of(
    table: Any,
    *,
    models: Sequence[str],
    scores: Sequence[str],
    metric: str | None,
    better: Directions,
    missing: Missing,
    columns: Mapping[str, str] | None,
    level: float,
) -> Study:
    """The study of a plain table; arguments and errors are those of `surgeval.study`."""
    plain, whole = _read(table, models, scores, columns, better, metric)
    name = whole.chosen_metric(metric)
    facts = whole.facts_of(name)
    sign = facts.sign
    asked: dict[str, Any] = {"metric": name, "missing": missing, "level": level}
    values = interval(whole, **asked)
    ordered = values.table.sort(pl.col("value") * -sign, maintain_order=True, nulls_last=True)
    pairs, spoken = _pairs(whole, ordered["model"].to_list(), asked)
    matrix = whole.matrix(name, missing=missing)
    conditions, unread = _strata(whole, asked)
    unit = "patient" if whole.has_videos else "case"
    tables = {
        "values": t.VALUES.frame(ordered),
        "pairs": t.PAIRS.frame(pairs),
        "patients": t.PATIENTS.frame(_patients(matrix)),
        "hard_cases": t.HARD_CASES.frame(_hard_cases(matrix, sign)),
        **conditions,
        "readings": t.READINGS.frame([{"sentence": sentence} for sentence in plain.taken]),
    }
    findings = _distinct([*_unsaid(whole), *_other_metrics(whole, name, metric), *values.findings, *spoken, *unread])
    verdicts = tuple(verdict(ordered, tables["pairs"], facts, unit=unit))
    prose = f"{values.prose} {_pairs_prose(len(ordered), level)}"
    return Study(tables, verdicts, prose, findings, whole, facts)


def _read(
    table: Any, models: Sequence[str], scores: Sequence[str], columns: Mapping[str, str] | None, better: Directions,
    metric: str | None,
) -> tuple[PlainTable, ScoreTable]:  # fmt: skip
    if isinstance(table, ScoreTable):
        return PlainTable(table.frame, ("the table is a score table already",)), table.directed(better, metric)
    several = table if isinstance(table, list | tuple) else [table]
    if not several:
        raise Misuse("no table was given")
    paths = all(isinstance(one, str | Path) for one in several)
    frames = {Path(one).name: read_frame(Path(one)) for one in several} if paths else {"table": as_frame(table)}
    if paths and len(frames) < len(several):
        raise Misuse("two files have the same name; models of a file without a model column are named after it")
    plain = plain_table(frames, columns=columns, models=models, scores=scores, measured=metric)
    main = plain.frame["metric"].unique(maintain_order=True).to_list()
    whole = ScoreTable.of(plain.frame, where=", ".join(frames), main=main[0] if len(main) > 1 else None)
    return plain, whole.directed(better, metric)


def pairs_with_best(table: ScoreTable, models: Sequence[str], asked: Mapping[str, Any]) -> pl.DataFrame:
    """The first model with each other one, as `verdict` takes them.

    Args:
        table: The scores.
        models: The best first.
        asked: `metric`, `missing` and `level` of every comparison, as `compare` takes them.
    """
    return t.PAIRS.frame(_pairs(table, models, asked)[0])


def _pairs(
    table: ScoreTable, models: Sequence[str], asked: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The best model with each other one, the next best first; p-values corrected over all pairs."""
    tests = len(models) * (len(models) - 1) // 2
    all_pairs = list(combinations(models, 2)) if len(models) <= ALL_PAIRS else [(models[0], one) for one in models[1:]]
    rows: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    for first, second in all_pairs:
        result = compare(table, first, second, **asked)
        rows.append(result.table.row(0, named=True))
        spoken += result.findings if first == models[0] else []
    p_values = np.array([np.nan if row["p_value"] is None else row["p_value"] for row in rows])
    known = np.isfinite(p_values)
    corrected = np.full(len(rows), np.nan)
    if len(models) <= ALL_PAIRS:
        corrected[known] = adjusted(p_values[known], "holm")
    else:
        corrected = np.minimum(p_values * tests, 1.0)
    kept = [{**row, "p_corrected": p, "tests": tests} for row, p in zip(rows, corrected, strict=True)]
    wanted = set(t.PAIRS.columns)
    return [{k: v for k, v in row.items() if k in wanted} for row in kept if row["model_a"] == models[0]], spoken


def _pairs_prose(models: int, level: float) -> str:
    if models == 1:
        return ""
    how = "Holm" if models <= ALL_PAIRS else "Bonferroni"
    return (
        f"Differences of the model with the best value to each other one have {level:.0%} intervals; p-values are "
        f"those of exact sign-flip tests, corrected ({how}) over all pairs of models, since the best one was found on "
        "the same data."
    )


def _patients(matrix: ScoreMatrix) -> list[dict[str, Any]]:
    lines = []
    for place, video in enumerate(matrix.video_names):
        rows = matrix.values[matrix.videos == place]
        for column, model in enumerate(matrix.models):
            known = rows[:, column][np.isfinite(rows[:, column])]
            value = float(known.mean()) if len(known) else None
            lines.append({"model": model, "video": video, "value": value, "cases": len(known)})
    return lines


def _hard_cases(matrix: ScoreMatrix, sign: float) -> list[dict[str, Any]]:
    """The cases that are worst for the typical model."""
    scored = np.isfinite(matrix.values).any(axis=1)
    typical = np.full(len(scored), np.nan)
    typical[scored] = np.nanmedian(matrix.values[scored], axis=1)
    order = np.argsort(np.where(scored, sign * typical, np.inf), kind="stable")[: min(HARD_CASES, int(scored.sum()))]
    cases = matrix.cases["case"].to_list()
    return [
        {
            "case": cases[row], "video": matrix.video_names[matrix.videos[row]], "value": float(typical[row]),
            "worst": matrix.models[int(np.nanargmin(sign * matrix.values[row]))],
        }
        for row in order
    ]  # fmt: skip


def _strata(table: ScoreTable, asked: Mapping[str, Any]) -> tuple[dict[str, pl.DataFrame], tuple[Finding, ...]]:
    """The table of conditions where there are any, or why there is none."""
    named = [name for name in table.strata if table.frame[name].n_unique() > 1]
    if not named:
        return {}, ()
    try:
        conditions = strata(table, named, **asked).table
    except SurgevalError as error:
        return {}, as_findings([f"Conditions ({', '.join(named)}) could not be compared: {error}"])
    return {"strata": t.STRATA.frame(conditions)}, ()


def _other_metrics(table: ScoreTable, name: str, asked: str | None) -> list[Finding]:
    """A warning where nobody chose among several metrics, which may name another model."""
    others = [one for one in table.metrics if one != name]
    if asked is not None or not others:
        return []
    message = (
        f"the verdict is about {name!r} alone; the table scores {listed([repr(one) for one in others])} too, which may "
        "name another model: choose with --metric"
    )
    return [Finding("other-metrics", Severity.WARNING, message)]


def _unsaid(table: ScoreTable) -> list[Finding]:
    """A warning where no patient is named though cases may belong together."""
    if table.has_videos:
        return []
    message = (
        "no column names patients or videos, so every case counts as independent; if several cases come from one "
        "patient, intervals are too narrow and p-values too small: add such a column, or name it with "
        "--columns video=COLUMN"
    )
    return [Finding("no-patients", Severity.WARNING, message)]


def _distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple({one.message: one for one in findings if one.message != NO_VIDEO}.values())
