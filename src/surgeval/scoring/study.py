"""A study from a plain table: who is better and how sure, patient by patient, which cases are hard.

Nothing is computed here that a verb of its own does not compute: values are those of `interval`, differences those of
`compare`, conditions those of `strata`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import DirectionUnknown, Misuse, SurgevalError, TableInvalid
from surgeval.results.tables import studies as t
from surgeval.schema.findings import Finding
from surgeval.schema.metric_facts import MetricFacts
from surgeval.schema.missing import Missing, Rule, missing_rules
from surgeval.schema.outcomes import Status
from surgeval.schema.plain_columns import identifying
from surgeval.schema.plain_tables import UNNAMED, PlainTable, plain_table
from surgeval.schema.score_table import ScoreMatrix, ScoreTable
from surgeval.schema.statistic_rules import remark
from surgeval.schema.table_facts import Directions
from surgeval.schema.table_files import read_frame
from surgeval.schema.tabular import as_frame
from surgeval.scoring.verdict import listed, verdict
from surgeval.stats.comparison import compare
from surgeval.stats.corrections import adjusted
from surgeval.stats.interval import interval
from surgeval.stats.strata import strata

ALL_PAIRS = 20
"""Models up to which every pair is tested; beyond, pairs of the best one only, corrected for all (Bonferroni)."""
HARD_CASES = 20
MOST_FILLED = 4
"""Models up to which each is named that lacks scores."""


class Study(NamedTuple):
    """Tables of one metric, with the verdict in sentences."""

    tables: dict[str, pl.DataFrame]
    """`values` (the best model first), `pairs`, `patients`, `hard_cases`, `strata` where there are any, `readings`."""
    verdict: tuple[str, ...]
    prose: str
    findings: tuple[Finding, ...]
    scores: ScoreTable
    facts: MetricFacts
    unit: str
    """What is independent, in a word."""


def study_of(
    table: Any,
    *,
    models: Sequence[str],
    scores: Sequence[str],
    metric: str | None,
    better: Directions,
    missing: Missing,
    columns: Mapping[str, str] | None,
    sheet: str | None,
    decimal: str | None,
    level: float,
) -> Study:
    """The study of a plain table; arguments and errors are those of `surgeval.study`."""
    plain, given = _read(table, models, scores, columns, better, metric, sheet, decimal)
    name = given.chosen_metric(metric)
    facts = given.facts_of(name)
    if facts.better is None and metric is None and name == UNNAMED:
        raise DirectionUnknown(name, otherwise="say which metric the table holds, such as --metric dice")
    sign, unit = facts.sign, plain.unit if given.has_videos else "case"
    whole, unlike = _on_common_patients(given, name, missing, unit)
    asked: dict[str, Any] = {"metric": name, "missing": missing, "level": level}
    values = interval(whole, **asked)
    ordered = values.table.sort(pl.col("value") * -sign, maintain_order=True, nulls_last=True)
    pairs, spoken = _pairs(whole, ordered["model"].to_list(), asked)
    matrix = whole.matrix(name, missing=missing)
    conditions, unread = _strata(whole, asked)
    hard, tied = _hard_cases(matrix, sign, _scored(whole, name))
    tables = {
        "values": t.VALUES.frame(ordered),
        "pairs": pairs,
        "patients": t.PATIENTS.frame(_patients(matrix)),
        "hard_cases": t.HARD_CASES.frame(hard),
        **conditions,
        "readings": t.READINGS.frame([{"sentence": sentence} for sentence in plain.taken]),
    }
    findings = _distinct(
        [*unlike, *_unsaid(whole), *_other_metrics(whole, name, metric), *values.findings, *spoken, *unread, *tied]
    )
    first, *more = verdict(ordered, tables["pairs"], facts, unit=unit)
    common = (
        [f"This is about the {len(matrix.video_names):,} {unit}s that every model has scores of."] if unlike else []
    )
    prose = f"{values.prose} {_pairs_prose(len(ordered), level)}".strip()
    return Study(tables, (first, *common, *_filled(matrix), *more), prose, findings, given, facts, unit)


def _filled(matrix: ScoreMatrix) -> list[str]:
    """Of every model some of whose scores are a number put in their place, how many: a reader takes them for scores."""
    absent, sentences = matrix.absent, []
    for model, counts in absent.counts.items():
        by_rule: dict[Rule, int] = {}
        for status, count in counts.items():
            by_rule[absent.rules[status]] = by_rule.get(absent.rules[status], 0) + count
        for rule, count in by_rule.items():
            if rule in ("drop-case", "drop-score"):
                continue
            as_what = f"the worst value, {absent.worst:g}" if isinstance(rule, str) else f"{rule:g}"
            many = f"{count:,} of {len(matrix.values):,} scores of {model}"
            are, counted = ("is", "counts") if count == 1 else ("are", "count")
            sentences.append(f"{many} {are} not there and {counted} as {as_what}: part of its distance is that.")
    return (
        sentences
        if len(sentences) <= MOST_FILLED
        else [
            f"{len(absent.counts):,} models lack scores, which count as a number put in their place: part of their "
            "distance is that."
        ]
    )


def _read(
    table: Any, models: Sequence[str], scores: Sequence[str], columns: Mapping[str, str] | None, better: Directions,
    metric: str | None, sheet: str | None, decimal: str | None,
) -> tuple[PlainTable, ScoreTable]:  # fmt: skip
    if isinstance(table, ScoreTable):
        return PlainTable(table.frame, ("the table is a score table already",)), table.directed(better, metric)
    several = table if isinstance(table, list | tuple) else [table]
    if not several:
        raise Misuse("no table was given")
    paths = all(isinstance(one, str | Path) for one in several)
    frames = (
        {Path(one).name: _frame(Path(one), columns, sheet) for one in several} if paths else {"table": as_frame(table)}
    )
    if paths and len(frames) < len(several):
        raise Misuse("two files have the same name; models of a file without a model column are named after it")
    plain = plain_table(frames, columns=columns, models=models, scores=scores, measured=metric, decimal=decimal)
    main = plain.frame["metric"].unique(maintain_order=True).to_list()
    whole = ScoreTable.of(plain.frame, where=", ".join(frames), main=main[0] if len(main) > 1 else None)
    return plain, whole.directed(better, metric)


def _frame(path: Path, columns: Mapping[str, str] | None, sheet: str | None) -> pl.DataFrame:
    """The table in a file; patient 007 stays 007."""
    frame = read_frame(path, sheet=sheet, semicolons=True)
    numbers = [name for name in identifying(frame.columns, columns) if name in frame.columns]
    if not any(frame[name].dtype.is_numeric() for name in numbers):
        return frame
    return read_frame(path, numbers, sheet=sheet, semicolons=True)


def pairs_with_best(table: ScoreTable, models: Sequence[str], asked: Mapping[str, Any]) -> pl.DataFrame:
    """The first model with each other one, as `verdict` takes them.

    Args:
        table: The scores.
        models: The best first.
        asked: `metric`, `missing` and `level` of every comparison, as `compare` takes them.
    """
    return _pairs(table, models, asked)[0]


def _on_common_patients(
    table: ScoreTable, metric: str, missing: Missing, unit: str
) -> tuple[ScoreTable, list[Finding]]:
    """The scores of the patients that every model was tried on, and what is said where models were on different ones.

    Whoever states a rule that fills in or stops has decided; else a model would look bad for patients that nobody
    showed it, or good for those it was spared.

    Raises:
        TableInvalid: There is no such patient.
    """
    if missing is not None and missing_rules(missing)[Status.MISSING] != "drop-score":
        return table, []
    silent = pl.col("status").is_in([Status.MISSING.value, Status.ANSWERED.value])
    rows = table.frame.filter(pl.col("metric") == metric)
    tried = rows.filter(pl.col("value").is_not_null() | ~silent)
    whose = {str(model): set(some["video"]) for (model,), some in tried.group_by("model", maintain_order=True)}
    for model in rows["model"].unique():
        whose.setdefault(str(model), set())
    every, common = set.union(*whose.values()), set.intersection(*whose.values())
    if every == common:
        return table, []
    counts = listed([f"{model}: {len(seen)}" for model, seen in whose.items()], most=6)
    head = f"models were scored on different {unit}s ({counts} of {len(every)})"
    if not common:
        raise TableInvalid(
            "table", [f"{head}, and none was scored for all of them: nothing can be compared; leave models out"]
        )
    left_out = len(every) - len(common)
    message = (
        f"{head}: everything here is about the {len(common)} that all of them have, {left_out} "
        f"{'is' if left_out == 1 else 'are'} left out; to count what is not there as the worst value "
        "instead, state --missing worst"
    )
    kept = replace(table, frame=table.frame.filter(pl.col("video").is_in(list(common))))
    return kept, [remark("unlike-patients", message)]


def _over_patients(matrix: ScoreMatrix, model_a: str, model_b: str) -> float | None:
    """The mean over patients of the difference within each, on the cases that both models have."""
    gaps = matrix.values[:, matrix.models.index(model_a)] - matrix.values[:, matrix.models.index(model_b)]
    scored = np.isfinite(gaps)
    if not scored.any():
        return None
    videos, places = np.unique(matrix.videos[scored], return_inverse=True)
    return float(np.mean(np.bincount(places, weights=gaps[scored]) / np.bincount(places, minlength=len(videos))))


def _pairs(table: ScoreTable, models: Sequence[str], asked: Mapping[str, Any]) -> tuple[pl.DataFrame, list[Finding]]:
    """The best model with each other one, the next best first; p-values corrected over all pairs."""
    tests = len(models) * (len(models) - 1) // 2
    all_pairs = list(combinations(models, 2)) if len(models) <= ALL_PAIRS else [(models[0], one) for one in models[1:]]
    rows: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    for first, second in all_pairs:
        result = compare(table, first, second, **asked)
        rows.append(result.table.row(0, named=True))
        if first == models[0]:
            spoken += [one for one in result.findings if one.code != "not-significant"]  # the verdict says it by name
    p_values = np.array([np.nan if row["p_value"] is None else row["p_value"] for row in rows])
    known = np.isfinite(p_values)
    corrected = np.full(len(rows), np.nan)
    if len(models) <= ALL_PAIRS:
        corrected[known] = adjusted(p_values[known], "holm")
    else:
        corrected = np.minimum(p_values * tests, 1.0)
    kept = [{**row, "p_corrected": p, "tests": tests} for row, p in zip(rows, corrected, strict=True)]
    wanted = set(t.PAIRS.columns)
    ours = [{k: v for k, v in row.items() if k in wanted} for row in kept if row["model_a"] == models[0]]
    matrix = table.matrix(asked["metric"], missing=asked["missing"])
    lacking = {
        m for m, some in matrix.absent.counts.items() if Status.MISSING.value in some and asked["missing"] is None
    }
    for row in ours:
        row["difference_videos"] = _over_patients(matrix, row["model_a"], row["model_b"])
        unsure = bool(lacking & {row["model_a"], row["model_b"]})
        row |= _where_scored(table, row, asked) if unsure else dict.fromkeys(_SCORED)
    return t.PAIRS.frame(ours), spoken


def _where_scored(table: ScoreTable, row: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The difference on the cases that both models have scores of; nothing where there is none."""
    only = {**asked, "missing": {Status.MISSING.value: "drop-score"}}
    try:
        scored = compare(table, row["model_a"], row["model_b"], **only).table.row(0, named=True)
    except SurgevalError:
        return dict.fromkeys(_SCORED)
    return dict(zip(_SCORED, (scored["difference"], scored["p_value"]), strict=True))


_SCORED = ("difference_scored", "p_scored")


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


def _scored(table: ScoreTable, metric: str) -> set[tuple[str, str]]:
    """The cases and models with a score of their own; others have a number put in its place, or none."""
    rows = table.frame.filter((pl.col("metric") == metric) & pl.col("value").is_not_null())
    return set(rows.select("case", "model").iter_rows())


def _hard_cases(
    matrix: ScoreMatrix, sign: float, known: Collection[tuple[str, str]]
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The cases that are worst for the typical model, and what is said where others are as hard as the last one."""
    scored = np.isfinite(matrix.values).any(axis=1)
    typical = np.full(len(scored), np.nan)
    typical[scored] = np.nanmedian(matrix.values[scored], axis=1)
    order = np.argsort(np.where(scored, sign * typical, np.inf), kind="stable")[: min(HARD_CASES, int(scored.sum()))]
    cases = matrix.cases["case"].to_list()
    rows = [
        {
            "case": cases[row], "video": matrix.video_names[matrix.videos[row]], "value": float(typical[row]),
            "worst": _worst_models(sign * matrix.values[row], {m: (cases[row], m) in known for m in matrix.models}),
        }
        for row in order
    ]  # fmt: skip
    last = typical[order[-1]] if len(order) else np.nan
    equal, shown = int((typical == last).sum()), int((typical[order] == last).sum())
    if equal == shown:
        return rows, []
    message = (
        f"{equal} cases are as hard as the last of the list ({last:g}), which names {shown} of them, in the order of "
        "the table"
    )
    return rows, [remark("hard-cases-tied", message)]


def _worst_models(goodness: np.ndarray, known: Mapping[str, bool]) -> str:
    """Every model that fails most; a model alone is never blamed for a tie, and one without a score is told as such."""
    worst = [
        model if is_known else f"{model} (no score)"
        for (model, is_known), good in zip(known.items(), goodness, strict=True)
        if good == np.nanmin(goodness)
    ]
    return "all models" if 1 < len(worst) == np.isfinite(goodness).sum() else ", ".join(worst)


def _strata(table: ScoreTable, asked: Mapping[str, Any]) -> tuple[dict[str, pl.DataFrame], list[Finding]]:
    """The table of conditions where there are any, what its verb says, and why others are not in it."""
    compared: list[pl.DataFrame] = []
    findings: list[Finding] = []
    for name in (name for name in table.strata if table.frame[name].n_unique() > 1):
        try:
            result = strata(table, [name], **asked)
        except SurgevalError as error:
            text = f"could not be compared: {error}"
            findings.append(remark("condition-not-compared", text, subject=f"Condition {name}"))
            continue
        compared.append(result.table)
        findings += result.findings
    return ({"strata": t.STRATA.frame(pl.concat(compared))} if compared else {}), findings


def _other_metrics(table: ScoreTable, name: str, asked: str | None) -> list[Finding]:
    """A warning where nobody chose among several metrics, which may name another model."""
    others = [one for one in table.metrics if one != name]
    if asked is not None or not others:
        return []
    message = (
        f"the verdict is about {name!r} alone; the table scores {listed([repr(one) for one in others])} too, which may "
        "name another model: choose with --metric"
    )
    return [remark("other-metrics", message)]


def _unsaid(table: ScoreTable) -> list[Finding]:
    """A warning where no patient is named though cases may belong together."""
    if table.has_videos:
        return []
    message = (
        "no column names patients or videos, so every case counts as independent; if several cases come from one "
        "patient, intervals are too narrow and p-values too small: add such a column, or name it with "
        "--columns video=COLUMN"
    )
    return [remark("no-patients", message)]


def _distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple({one.text: one for one in findings if one.code != "no-videos"}.values())
