"""New videos against those of the validation: values, values by stratum, case mix and properties, with alarms.

Definition. Every check is a ratio of sums over videos: of scores over cases (a value), of cases with a label over cases
(the case mix), of a number over cases (a property). Its change is the ratio of the new videos minus that of the
validation, studentised with the linearised variances of both. Which videos are new is then shuffled: if nothing
changed, every split of the videos into so many old and so many new was equally likely, so the share of splits with a
change at least as large is a p-value that holds at any number of videos (studentised permutation test, Janssen 1997).
All checks share the splits, and the largest change of any counts (step-down maxT, Westfall and Young 1993): the chance
of one or more alarms while nothing changed is at most alpha for all checks together, and alpha over the number of looks
for each look where several are planned.

The decision a reader would question: an alarm needs whole videos, not cases. A bad week of one surgeon is one video
like the others; five hundred frames of it are no evidence of drift. And silence is no proof: `min_detectable` says
which change would have raised an alarm four times in five (with the level shared evenly by all checks, so it is rather
too large than too small).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from surgeval.errors import Misuse, UnknownName
from surgeval.schema.findings import Finding
from surgeval.schema.score_table import Missing, ScoreMatrix, ScoreTable
from surgeval.schema.statistic_rules import remark
from surgeval.stats.comparison import min_detectable
from surgeval.stats.draws import check_replicates, stream
from surgeval.stats.watched import FEWEST, Check, can_be_judged, mix, periods, properties, strata_columns, values

_BLOCK = 2000


class Monitored(NamedTuple):
    """What came out."""

    rows: list[dict[str, Any]]
    videos: list[dict[str, Any]]
    findings: list[Finding]


def monitored(
    scores: ScoreTable,
    *,
    since: str,
    time_column: str,
    by: Sequence[str] | None,
    metric: str | None,
    missing: Missing,
    alpha: float,
    looks: int,
    level: float,
    replicates: int,
    seed: int,
) -> Monitored:
    """Every check with its change and p-values; arguments as for `monitor`.

    Raises:
        Misuse: A number that cannot be meant, or a period with too few videos.
        UnknownName: No such column.
        TableInvalid: A video without a time, or in both periods.
    """
    check_replicates(replicates, least=99)
    if not 0 < alpha < 1 or looks < 1:
        raise Misuse(f"alpha must lie between 0 and 1 and looks be 1 or more, got {alpha:g} and {looks}")
    if (replicates + 1) * alpha / looks < 1:
        least = math.ceil(looks / alpha) - 1
        raise Misuse(f"{replicates} splits cannot give a p-value of {alpha / looks:.2g}; draw {least} or more (--boot)")
    if time_column not in scores.strata:
        raise UnknownName("column of times", time_column, scores.strata)
    matrix = scores.matrix(metric, missing=missing)
    times, new = periods(matrix, time_column, since)
    columns = strata_columns(matrix.cases, time_column, by)
    checks = [*values(matrix, columns), *mix(matrix, columns), *properties(matrix, time_column, by)]
    testable = [one for one in checks if can_be_judged(one, new)]
    rng = stream(seed, "monitor")
    p, adjusted = shuffled_p(testable, new, replicates, rng)
    rows = [
        _row(one, new, matrix, level, alpha / looks, len(testable), float(p[at]), float(adjusted[at]))
        for at, one in enumerate(testable)
    ]
    findings = [*_alarms(rows), *_few(new, alpha / looks, len(checks) - len(testable)), *_looks(looks, alpha)]
    return Monitored(rows, _video_rows(matrix, times, new), findings)


def shuffled_p(
    checks: Sequence[Check], new: np.ndarray, replicates: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The p-value of every check alone, and for all of them together."""
    if not checks:
        return np.empty(0), np.empty(0)
    totals, sizes = (np.stack([getattr(one, name) for one in checks], axis=1) for name in ("totals", "sizes"))
    seen = np.abs(_studentised(new[None, :].astype(np.float64), totals, sizes)[0])
    order = np.argsort(-seen, kind="stable")
    alone, together = np.ones(len(checks)), np.ones(len(checks))
    for start in range(0, replicates, _BLOCK):
        count = min(_BLOCK, replicates - start)
        splits = rng.permuted(np.tile(new, (count, 1)), axis=1).astype(np.float64)
        drawn = np.abs(_studentised(splits, totals, sizes))
        alone += (drawn >= seen - 1e-12).sum(axis=0)
        largest = np.maximum.accumulate(drawn[:, order[::-1]], axis=1)[:, ::-1]
        together[order] += (largest >= seen[order] - 1e-12).sum(axis=0)
    together[order] = np.maximum.accumulate(together[order])
    return alone / (replicates + 1), together / (replicates + 1)


def _studentised(new: np.ndarray, totals: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The change of every check under every split `new[split, video]`; 0 where a period has nothing to say."""
    change, variance = np.zeros((len(new), totals.shape[1])), np.zeros((len(new), totals.shape[1]))
    defined = np.ones(change.shape, dtype=bool)
    for side, members in ((1.0, new), (-1.0, 1 - new)):
        value, error, videos = _ratio(members, totals, sizes)
        change += side * np.nan_to_num(value)
        variance += np.nan_to_num(error)
        defined &= videos >= FEWEST
    floor = 1e-24 * (1.0 + change**2)
    return np.where(defined & (variance > floor), change / np.sqrt(np.maximum(variance, floor)), 0.0)


def _ratio(members: np.ndarray, totals: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratio, its linearised variance and the number of videos behind it, `[split, check]` each."""
    videos = members @ (sizes > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = members @ sizes
        value = members @ totals / number
        squares = members @ totals**2 - 2 * value * (members @ (totals * sizes)) + value**2 * (members @ sizes**2)
        variance = np.maximum(squares, 0.0) / number**2 * videos / np.maximum(videos - 1, 1)
    return value, variance, videos


def _row(
    check: Check,
    new: np.ndarray,
    matrix: ScoreMatrix,
    level: float,
    alpha: float,
    checks: int,
    p: float,
    adjusted: float,
) -> dict[str, Any]:
    sides = [
        _ratio(members[None, :].astype(np.float64), check.totals[:, None], check.sizes[:, None])
        for members in (~new, new)
    ]
    (before, variance_before, videos_before), (now, variance_now, videos_now) = (
        tuple(float(number[0, 0]) for number in side) for side in sides
    )
    error = math.sqrt(variance_before + variance_now)
    df = _welch(variance_before, videos_before, variance_now, videos_now)
    half = float(stdtrit(df, (1 + level) / 2)) * error if error > 0 else math.nan
    change = now - before
    alarm = adjusted <= alpha * (1 + 1e-12)
    return {
        "kind": check.kind, "column": check.column, "level": check.level, "model": check.model, "validation": before,
        "new": now, "change": change, "low": _known(change - half), "high": _known(change + half), "p_value": p,
        "p_adjusted": adjusted, "alarm": alarm, "verdict": _verdict(check, change, matrix.metric.sign) if alarm else "",
        "min_detectable": _known(min_detectable(error, df, level=1 - alpha / checks)) if error > 0 else None,
        "videos_validation": int(videos_before), "videos_new": int(videos_now),
    }  # fmt: skip


def _welch(first: float, videos: float, second: float, others: float) -> float:
    """Degrees of freedom of a difference of two means with these variances (Welch 1947)."""
    below = first**2 / max(videos - 1, 1) + second**2 / max(others - 1, 1)
    return (first + second) ** 2 / below if below > 0 else max(videos + others - 2, 1.0)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _verdict(check: Check, change: float, sign: float) -> str:
    if check.kind in ("mix", "property"):
        return "more" if change > 0 else "less"
    if not sign:
        return "changed"
    return "better" if change * sign > 0 else "worse"


def _video_rows(matrix: ScoreMatrix, times: Sequence[Any], new: np.ndarray) -> list[dict[str, Any]]:
    rows = []
    for place, model in enumerate(matrix.models):
        known = np.isfinite(matrix.values[:, place])
        totals = np.bincount(matrix.videos[known], weights=matrix.values[known, place], minlength=len(times))
        sizes = np.bincount(matrix.videos[known], minlength=len(times))
        rows += [
            {"model": model, "video": name, "time": str(times[at]), "period": "new" if new[at] else "validation",
             "value": float(totals[at] / sizes[at]) if sizes[at] else None, "cases": int(sizes[at])}
            for at, name in enumerate(matrix.video_names)
        ]  # fmt: skip
    return sorted(rows, key=lambda row: (row["model"], _order(row["time"]), row["video"]))


def _order(time: str) -> tuple[float, str]:
    try:
        return float(time), ""
    except ValueError:
        return math.inf, time


def _alarms(rows: Sequence[dict[str, Any]]) -> list[Finding]:
    return [
        remark("alarm", f"{_name(row)}: {row['validation']:.3g} in the validation, {row['new']:.3g} since "
               f"({row['verdict']}; adjusted p = {row['p_adjusted']:.2g}, {row['videos_new']} new videos).")
        for row in rows
        if row["alarm"]
    ]  # fmt: skip


def _name(row: dict[str, Any]) -> str:
    where = f" where {row['column']} is {row['level']}" if row["level"] else ""
    names = {
        "value": f"value of {row['model']}", "stratum": f"value of {row['model']}{where}",
        "mix": f"share of cases{where}", "property": f"mean of {row['column']}",
    }  # fmt: skip
    return names[row["kind"]]


def _few(new: np.ndarray, alpha: float, unjudged: int) -> list[Finding]:
    findings = []
    smallest = 1 / math.comb(len(new), int(new.sum()))
    if smallest > alpha:
        text = (
            f"{int(new.sum())} new videos beside {int((~new).sum())} cannot raise an alarm at level {alpha:.2g}, "
            f"whatever they show (smallest p-value {smallest:.2g}): silence means nothing yet."
        )
        findings.append(remark("alarm-unreachable", text))
    if unjudged:
        text = f"{unjudged} checks rest on fewer than {FEWEST} videos in one of the periods and were not made."
        findings.append(remark("checks-not-made", text))
    return findings


def _looks(looks: int, alpha: float) -> list[Finding]:
    if looks > 1:
        return []
    text = (
        f"This is taken for the only look. Who looks every month has a false alarm in {1 - (1 - alpha) ** 12:.0%} of "
        "years without any change: state --looks with the number of looks planned."
    )
    return [remark("single-look", text)]
