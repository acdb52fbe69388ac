"""New videos against those of the validation: values, values by stratum, case mix and properties, with alarms.

Definition. Every check is a ratio over videos: of scores over cases (a value), of cases with a label over cases (the
case mix), of a number over cases (a property); a column of numbers is a property, one of few labels a stratum. New
videos come one after the other. While nothing changes, the rank of the newest among all videos until then is uniform
and independent of the ranks before (Vovk, Nouretdinov and Gammerman 2003). So one may bet on ranks: with
z the normal score of the rank, a bet on a shift by d standard deviations multiplies the capital by
exp(d z - d^2/2), averaged over the width of the rank (ties share theirs), and by 1 on average while nothing changes.
The capital is the mean over half-normal d, and over orders of the videos of one date, at whose end one looks. It
passes 1/alpha at any time with a chance of at most alpha (Ville 1939): whoever looks, however often, keeps the level
(Waudby-Smith and Ramdas 2024, section 4, bet on bounded means so).

The decisions a reader would question. Alpha is shared by the checks that the videos of the validation allow, so that no
share depends on when one looks: half by the values of the models over all cases, half by all other checks, evenly; nine
tenths of a value's share bet on a fall. Alpha spending (Lan and DeMets 1983) on the same scores sees more where the
number of new videos is planned and less before (docs/validation-plans.md); nobody plans the end of monitoring, so
betting it is. An alarm needs whole videos, not cases: a bad week of one surgeon is one video like the others. And
silence is no proof: `min_detectable` says which change would have raised an alarm four times in five.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri, stdtrit

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.read_rows import is_quantity
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix, ScoreTable
from surgvalid.stats.intervals.interval import known

MOST_LEVELS = 12
"""Labels of a column beyond which it is no stratum here: names, times, free text."""
FEWEST = 2
"""Videos of each period that a change can be judged by."""


class Check(NamedTuple):
    """One ratio that is watched."""

    kind: str
    """value, stratum, missing, mix or property."""
    column: str
    level: str
    model: str
    totals: np.ndarray
    """`[video]`, above the line."""
    sizes: np.ndarray
    """`[video]`, below it; 0 where a video has nothing to say."""


def periods(matrix: ScoreMatrix, column: str, since: str) -> tuple[list[Any], np.ndarray]:
    """The time of each video, and whether it is new.

    Raises:
        TableInvalid: With every video that has no time or lies in both periods.
        Misuse: A period is empty, or times cannot be compared with `since`.
    """
    times = matrix.cases[column]
    edge = _edge(times, since)
    late = (times >= edge).fill_null(False).to_numpy() if times.dtype.is_numeric() else np.array(_late(times, edge))
    lacking = times.is_null().to_numpy()
    first: list[Any] = [None] * len(matrix.video_names)
    problems = []
    new = np.zeros(len(matrix.video_names), dtype=bool)
    for video, name in enumerate(matrix.video_names):
        rows = np.flatnonzero(matrix.videos == video)
        if lacking[rows].any():
            problems.append(f"video {name!r} has no {column}")
        elif 0 < late[rows].sum() < len(rows):
            problems.append(f"video {name!r} lies before and after {since}")
        new[video] = bool(late[rows].any())
        first[video] = times[int(rows[0])]
    if problems:
        raise TableInvalid(f"column {column!r}", problems)
    if min(int(new.sum()), int((~new).sum())) < FEWEST:
        raise Misuse(
            f"{int((~new).sum())} videos before {since} and {int(new.sum())} from then on; each period needs {FEWEST}"
        )
    return first, new


def _edge(times: pl.Series, since: str) -> Any:
    if not times.dtype.is_numeric():
        return since
    try:
        return float(since)
    except ValueError:
        raise Misuse(f"--since {since}: column {times.name!r} holds numbers; give one") from None


def _late(times: pl.Series, since: str) -> list[bool]:
    """Whether each time, in ISO form, is not before `since`: to its precision, text sorts as dates do."""
    texts = times.cast(pl.String).to_list()
    odd = [text for text in {*texts, since} if text is not None and not (_is_iso(text) and len(text) >= len(since))]
    if odd:
        listed = ", ".join(map(repr, sorted(odd)[:3]))
        raise Misuse(f"times must be numbers or ISO dates as exact as --since, such as 2026-03-01; got {listed}")
    return [text is not None and text[: len(since)] >= since for text in texts]


def _is_iso(text: str) -> bool:
    head = text[:10].split("-")
    widths = [len(piece) for piece in head]
    return all(piece.isdigit() for piece in head) and widths in ([4], [4, 2], [4, 2, 2])


def strata_columns(cases: pl.DataFrame, time_column: str, by: Sequence[str] | None) -> list[str]:
    """The columns that are strata here: those asked for, or all with few labels."""
    if by:
        unknown = [name for name in by if name not in cases.columns]
        if unknown:
            raise UnknownName("column", unknown[0], cases.columns)
        return [name for name in by if not is_quantity(cases[name])]
    listed = [name for name in cases.columns if name not in ("case", "video", "task", time_column)]
    return [name for name in listed if cases[name].n_unique() <= MOST_LEVELS and not is_quantity(cases[name])]


def values(matrix: ScoreMatrix, columns: Sequence[str]) -> Iterator[Check]:
    """The value of every model, over all cases and in every stratum."""
    every = np.ones(len(matrix.videos), dtype=bool)
    for place, model in enumerate(matrix.models):
        yield _check("value", "", "", model, matrix, matrix.values[:, place], every)
        for column, level, held in _levels(matrix, columns):
            yield _check("stratum", column, level, model, matrix, matrix.values[:, place], held)


def lacking(matrix: ScoreMatrix, raw: ScoreMatrix) -> Iterator[Check]:
    """The share of cases without a score of every model.

    Args:
        matrix: Whose videos are watched.
        raw: The scores, with every case and without a number in the place of any.
    """
    places = [raw.video_names.index(video) for video in matrix.video_names]
    every = np.ones(len(raw.videos), dtype=bool)
    for place, model in enumerate(raw.models):
        absent = np.isnan(raw.values[:, place]).astype(np.float64)
        check = _check("missing", "", "", model, raw, absent, every)
        yield check._replace(totals=check.totals[places], sizes=check.sizes[places])


def mix(matrix: ScoreMatrix, columns: Sequence[str]) -> Iterator[Check]:
    """The share of cases with every label."""
    every = np.ones(len(matrix.videos), dtype=bool)
    for column, level, held in _levels(matrix, columns):
        yield _check("mix", column, level, "", matrix, held.astype(np.float64), every)


def properties(matrix: ScoreMatrix, time_column: str, by: Sequence[str] | None) -> Iterator[Check]:
    """The mean of every column of numbers."""
    for column in by or matrix.cases.columns:
        if column in ("case", "video", "task", time_column) or not is_quantity(matrix.cases[column]):
            continue
        numbers = matrix.cases[column].cast(pl.Float64).to_numpy().astype(np.float64)
        yield _check("property", column, "", "", matrix, numbers, np.ones(len(numbers), dtype=bool))


def _levels(matrix: ScoreMatrix, columns: Sequence[str]) -> Iterator[tuple[str, str, np.ndarray]]:
    for column in columns:
        texts = matrix.cases[column].cast(pl.String).fill_null("(none)").to_numpy()
        levels = sorted(set(texts.tolist()))
        for level in levels if len(levels) > 1 else ():
            yield column, level, texts == level


def _check(
    kind: str, column: str, level: str, model: str, matrix: ScoreMatrix, numbers: np.ndarray, held: np.ndarray
) -> Check:
    scored = held & np.isfinite(numbers)
    videos = len(matrix.video_names)
    totals = np.bincount(matrix.videos[scored], weights=numbers[scored], minlength=videos)
    sizes = np.bincount(matrix.videos[scored], minlength=videos).astype(np.float64)
    return Check(kind, column, level, model, totals, sizes)


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
    level: float,
) -> Monitored:
    """Every check with its change and p-values; arguments as for `monitor`.

    Raises:
        Misuse: A number that cannot be meant, or a period with too few videos.
        UnknownName: No such column.
        TableInvalid: A video without a time, or in both periods.
    """
    if not 0 < alpha < 1:
        raise Misuse(f"alpha must lie between 0 and 1, got {alpha:g}")
    if time_column not in scores.strata:
        raise UnknownName("column of times", time_column, scores.strata)
    name = scores.chosen_metric(metric)
    matrix = scores.matrix(name, missing=missing)
    times, new = periods(matrix, time_column, since)
    columns = strata_columns(matrix.cases.filter(~new[matrix.videos]), time_column, by)
    absent = lacking(matrix, scores.matrix(name, missing="drop-score"))
    checks = [*values(matrix, columns), *absent, *mix(matrix, columns), *properties(matrix, time_column, by)]
    planned = [one for one in checks if int((one.sizes[~new] > 0).sum()) >= FEWEST]  # whatever came in since
    keys = [_order(str(time)) for time in times]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    dates = np.array([ranks[key] for key in keys])
    shared = zip(planned, alpha_shares(planned), strict=True)
    made = [(one, share) for one, share in shared if int((one.sizes[new] > 0).sum()) >= FEWEST]
    listed = [pair for pair in made if pair[0].kind != "missing" or pair[0].totals.any()]
    rows = [_row(one, new, dates, matrix, level, alpha, share) for one, share in listed]
    findings = [*_alarms(rows), *_few(rows, len(checks) - len(made))]
    return Monitored(rows, _video_rows(matrix, times, new), findings)


def alpha_shares(checks: Sequence[Check]) -> list[float]:
    """The share of alpha of every check: half for the values over all cases, half for all others.

    Among the others are missing scores of every model, which may begin at any time. Shared by the checks that could be
    made so far, an early look would spend more than a later one.
    """
    first = sum(one.kind == "value" for one in checks)
    return [0.5 / (first if one.kind == "value" else len(checks) - first) for one in checks]


SHIFTS = np.arange(0.25, 3.01, 0.25)
"""Shifts that are bet on, in standard deviations of videos."""
_PRIOR = np.exp(-(SHIFTS**2))
_PRIOR /= _PRIOR.sum()
_FALL = 0.9
"""Share of the capital of a value that is bet on a fall; the rest, and half of any other check, on the other way."""


def capital(numbers: np.ndarray, before: int, *, fall: float = 0.5) -> np.ndarray:
    """The capital after each video of the new ones, which follow `before` videos of the validation in time.

    Args:
        numbers: `[video]`, those of the validation first, then the new ones in their order.
        before: How many are of the validation.
        fall: The share that is bet on smaller numbers.

    Example:
        >>> float(capital(np.array([5.0, 6.0, 7.0, 8.0, 1.0]), 4)[0]) > 1
        True
    """
    ends = np.empty((len(numbers) - before, 2))
    for place in range(before, len(numbers)):
        until = numbers[: place + 1]
        below, equal = (until < numbers[place]).sum(), (until == numbers[place]).sum()
        ends[place - before] = below / len(until), (below + equal) / len(until)
    return _capital_of(ends, fall)


_ORDERS = 20
"""In which the new videos of one date are taken, where nobody says which came first."""


def capital_by_date(numbers: np.ndarray, dates: np.ndarray, *, fall: float = 0.5) -> np.ndarray:
    """The capital after each date: the mean over orders of the videos within dates, which keeps the level.

    Args:
        numbers: `[video]`, those of the validation first, then the new ones, by date and within dates by size.
        dates: `[new video]`, growing.
        fall: As for `capital`.
    """
    before, last = len(numbers) - len(dates), np.append(np.diff(dates) > 0, True)
    if last.all():
        return capital(numbers, before, fall=fall)
    rng, total = np.random.default_rng(len(numbers)), np.zeros(int(last.sum()))
    for _ in range(_ORDERS):
        order = np.lexsort((rng.random(len(dates)), dates))
        total += capital(np.concatenate([numbers[:before], numbers[before:][order]]), before, fall=fall)[last]
    return np.asarray(total / _ORDERS)


def _capital_of(ends: np.ndarray, fall: float) -> np.ndarray:
    """The capital after each rank, given as the ends `[video, 2]` of what it covers of the interval from 0 to 1."""
    scores, widths = ndtri(ends), ends[:, 1] - ends[:, 0]
    parts = []
    for side, stake in ((1.0, fall), (-1.0, 1 - fall)):
        moved = ndtr(scores[:, :, None] + side * SHIFTS)
        growth = np.cumsum(np.log(np.maximum(moved[:, 1] - moved[:, 0], 1e-300) / widths[:, None]), axis=0)
        parts.append(stake * (np.exp(growth) @ _PRIOR))
    return np.asarray(parts[0] + parts[1])


def _row(
    check: Check, new: np.ndarray, dates: np.ndarray, matrix: ScoreMatrix, level: float, alpha: float, share: float
) -> dict[str, Any]:
    sides = [_ratio(check.totals[members], check.sizes[members]) for members in (~new, new)]
    (before, variance_before, videos_before), (now, variance_now, videos_now) = sides
    error = math.sqrt(variance_before + variance_now)
    df = _welch(variance_before, videos_before, variance_now, videos_now)
    half = float(stdtrit(df, (1 + level) / 2)) * error if error > 0 else math.nan
    change = now - before
    held = np.flatnonzero(check.sizes > 0)
    numbers = np.round(check.totals[held] / check.sizes[held], 12)
    held = held[np.lexsort((numbers, dates[held], new[held]))]
    numbers = np.round(check.totals[held] / check.sizes[held], 12)
    sign = {"value": matrix.metric.sign, "stratum": matrix.metric.sign, "missing": -1}.get(check.kind, 0)
    fall = {1: _FALL, -1: 1 - _FALL}.get(int(sign), 0.5)
    p = float(min(1.0, 1.0 / capital_by_date(numbers, dates[held][videos_before:], fall=fall).max()))
    adjusted = min(1.0, p / share)
    seen = detectable_shift(videos_before, videos_now, alpha * share, stake=max(fall, 1 - fall))
    return {
        "kind": check.kind,
        "column": check.column,
        "level": check.level,
        "model": check.model,
        "validation": before,
        "new": now,
        "change": change,
        "low": known(change - half),
        "high": known(change + half),
        "p_value": p,
        "p_adjusted": adjusted,
        "alarm": adjusted <= alpha * (1 + 1e-12),
        "verdict": _verdict(check, change, matrix.metric.sign) if adjusted <= alpha * (1 + 1e-12) else "",
        "min_detectable": known(seen * _spread(numbers, videos_before)),
        "videos_validation": videos_before,
        "videos_new": videos_now,
    }


def _ratio(totals: np.ndarray, sizes: np.ndarray) -> tuple[float, float, int]:
    """A ratio of sums over videos, its linearised variance, and the number of videos behind it."""
    videos, size = int((sizes > 0).sum()), float(sizes.sum())
    value = float(totals.sum()) / size
    variance = float(((totals - value * sizes) ** 2).sum()) / size**2 * videos / max(videos - 1, 1)
    return value, variance, videos


def _spread(numbers: np.ndarray, before: int) -> float:
    """The standard deviation of videos, within the periods."""
    sides = numbers[:before], numbers[before:]
    squares = sum(float(((side - side.mean()) ** 2).sum()) for side in sides)
    return math.sqrt(squares / max(len(numbers) - 2, 1))


_POWER, _POWER_Z = 0.8, 0.8416
"""Four times in five, and its normal quantile."""
_FEW = 10
"""New videos below which ranks are too coarse for sums of normal scores."""


@cache
def detectable_shift(before: int, after: int, alpha: float, *, stake: float = _FALL) -> float:
    """The shift, in standard deviations of videos, that `after` new videos show four times in five; NaN where none.

    While videos shift by d, the scores of their ranks add up to a normal number with mean d times the sum of
    before/(before + t - 1) and variance `after`; the alarm is raised at the sum that makes the capital 1/alpha.
    """
    ranks = np.arange(before, before + after)
    lowest = np.stack([np.zeros(after), 1.0 / (ranks + 1)], axis=1)
    if _capital_of(lowest, stake)[-1] < 1 / alpha:
        return math.nan
    if after < _FEW:
        return _simulated_shift(before, after, alpha, stake)
    sums = np.linspace(0.0, 6.0 * math.sqrt(after), 2401)
    capitals = stake * np.exp(sums[:, None] * SHIFTS - after * SHIFTS**2 / 2) @ _PRIOR
    reach = sums[np.searchsorted(capitals, 1 / alpha)] if capitals[-1] >= 1 / alpha else math.nan
    return float((reach + _POWER_Z * math.sqrt(after)) / (before / ranks).sum())


def _simulated_shift(before: int, after: int, alpha: float, stake: float) -> float:
    """The smallest of a grid of shifts at which four in five of 400 made-up studies raise an alarm; NaN beyond."""
    noise = np.random.default_rng([before, after]).normal(size=(400, before + after))
    for shift in np.arange(0.5, 5.01, 0.25):
        moved = noise - shift * (np.arange(before + after) >= before)
        alarms = [capital(numbers, before, fall=stake).max() >= 1 / alpha for numbers in moved]
        if np.mean(alarms) >= _POWER:
            return float(shift)
    return math.nan


def _welch(first: float, videos: float, second: float, others: float) -> float:
    """Degrees of freedom of a difference of two means with these variances (Welch 1947)."""
    below = first**2 / max(videos - 1, 1) + second**2 / max(others - 1, 1)
    return (first + second) ** 2 / below if below > 0 else max(videos + others - 2, 1.0)


def _verdict(check: Check, change: float, sign: float) -> str:
    if check.kind in ("missing", "mix", "property"):
        return "more" if change > 0 else "less"
    if not sign:
        return "changed"
    return "better" if change * sign > 0 else "worse"


def _video_rows(matrix: ScoreMatrix, times: Sequence[Any], new: np.ndarray) -> list[dict[str, Any]]:
    rows = []
    for check in values(matrix, ()):
        totals, sizes = check.totals, check.sizes
        rows += [
            {
                "model": check.model,
                "video": name,
                "time": str(times[at]),
                "period": "new" if new[at] else "validation",
                "value": float(totals[at] / sizes[at]) if sizes[at] else None,
                "cases": int(sizes[at]),
            }
            for at, name in enumerate(matrix.video_names)
        ]
    return sorted(rows, key=lambda row: (row["model"], _order(row["time"]), row["video"]))


def _order(time: str) -> tuple[float, str]:
    try:
        return float(time), ""
    except ValueError:
        return math.inf, time


def _alarms(rows: Sequence[dict[str, Any]]) -> list[Finding]:
    return [
        remark(
            "alarm",
            f"{_name(row)}: {row['validation']:.3g} in the validation, {row['new']:.3g} since "
            f"({row['verdict']}; adjusted p = {row['p_adjusted']:.2g}, {row['videos_new']} new videos).",
        )
        for row in rows
        if row["alarm"]
    ]


def _name(row: dict[str, Any]) -> str:
    where = f" where {row['column']} is {row['level']}" if row["level"] else ""
    names = {
        "value": f"value of {row['model']}",
        "stratum": f"value of {row['model']}{where}",
        "missing": f"share of cases without a score of {row['model']}",
        "mix": f"share of cases{where}",
        "property": f"mean of {row['column']}",
    }
    return names[row["kind"]]


def _few(rows: Sequence[dict[str, Any]], unjudged: int) -> list[Finding]:
    findings = []
    blind = [row for row in rows if row["min_detectable"] is None and not row["alarm"]]
    if blind:
        text = (
            f"{blind[0]['videos_new']} new videos beside {blind[0]['videos_validation']} cannot raise an alarm in "
            f"{len(blind)} of {len(rows)} checks, whatever they show: their silence means nothing yet."
        )
        findings.append(remark("alarm-unreachable", text))
    if unjudged:
        text = f"{unjudged} checks rest on fewer than {FEWEST} videos in one of the periods and were not made."
        findings.append(remark("checks-not-made", text))
    return findings
