"""The native summary: what every question counts as, and every slice with its interval and both estimands by name.

The native summary: every slice with its interval, its unit and both estimands by name.

Intervals are those of `surgvalid.stats.intervals.interval`: the one of all questions is, to the last digit, what
`interval` gives on the score table, and nothing depends on which other slices were asked for. The primary result is the
mean over populated buckets of their accuracies; buckets take the place of classes in `stats.macro_interval`, since one
video sits in several of them, and a bucket that a single video fills leaves the interval open or takes it away. The
clinical primary result is the same over the buckets of the clinical questions.

What questions without a verdict count as in a score: the rules of score tables, applied before they are written.

An abstention that is left out pays: an answer that confuses the judges costs nothing, a wrong one does. So it counts
as worst unless somebody says otherwise, as in every verb that reads a score table. What nobody judged is nobody's
mistake: it has no value, and a mean over questions of which some were not judged is not given until somebody decides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import TooFewVideos
from surgvalid.results.tables.scoring import SUMMARY
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.metric_facts import KNOWN_METRICS
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.missing import Missing, Rule, missing_rules
from surgvalid.schema.tables.score_matrix import ScoreMatrix
from surgvalid.stats.intervals.engine import Spread, row_owners
from surgvalid.stats.intervals.few_videos import gathered
from surgvalid.stats.intervals.interval import of_slice, sample_spread, spread
from surgvalid.stats.intervals.interval_settings import AUTO, IntervalSettings
from surgvalid.stats.intervals.macro_interval import MacroRow, macro_spread
from surgvalid.stats.intervals.replicates import ESTIMANDS, Sample
from surgvalid.stats.intervals.slices import OVERALL
from surgvalid.stats.intervals.slices import Slice as Rows
from surgvalid.stats.intervals.statistic import divided
from surgvalid.stats.intervals.video_jackknife import effective_videos

Slice = tuple[str, str]
"""Level and name."""
HEADLINE = ("headline", "mean over buckets")
REPEATED = ("headline", "mean over the buckets in two or more videos")
CLINICAL = ("headline", "clinical questions, mean over buckets")
CLINICAL_REPEATED = ("headline", "clinical questions, mean over the buckets in two or more videos")
BOARDS = {"bucket": (HEADLINE, REPEATED), "clinical_bucket": (CLINICAL, CLINICAL_REPEATED)}
"""The level of the buckets that a primary result is taken over, to the names of the primary result."""
FACTS = KNOWN_METRICS["correct"]


class Summary(NamedTuple):
    """One line per model, slice and estimand, and what must be known about the intervals."""

    table: pl.DataFrame
    findings: tuple[Finding, ...]


def summarise(
    values: np.ndarray,
    videos: np.ndarray,
    models: Sequence[str],
    slices: Mapping[Slice, np.ndarray],
    *,
    method: str = AUTO,
    replicates: int = 1000,
    seed: int = 42,
    level: float = 0.95,
) -> Summary:
    """One line per model, slice and estimand.

    Args:
        values: `values[question, model]`: 1 right, 0 wrong, NaN not scored.
        videos: The video of each question, as a code from 0.
        models: Names of the columns.
        slices: Level and name to the indices of the questions; the primary result is taken over those of level
            `bucket`, the clinical one over those of level `clinical_bucket`.
        method: As for `interval`.
        replicates: Resamples of the videos, where a method draws; 0 then leaves the intervals out.
        seed: Of the random streams, where a method draws.
        level: Of the intervals.
    """
    settings = IntervalSettings(level=level, method=method, replicates=replicates, seed=seed)
    matrix = _matrix(values, videos, models)
    lines: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    for board, names in BOARDS.items():
        buckets = {name: rows for (kind, name), rows in slices.items() if kind == board}
        more, findings = _headline(matrix, buckets, names, settings) if buckets else ([], [])
        lines, spoken = lines + more, spoken + findings
    for name, rows in slices.items():
        more, findings = _slice_lines(matrix.where(rows), name, settings)
        lines += more
        spoken += findings if name[0] == OVERALL else []
    whose = pl.Series("model", [line.pop("model") for line in lines], dtype=pl.String)
    return Summary(SUMMARY.frame(lines).insert_column(0, whose), tuple(gathered(spoken)))


def _matrix(values: np.ndarray, videos: np.ndarray, models: Sequence[str]) -> ScoreMatrix:
    names = numbered(int(videos.max(initial=-1)) + 1)
    cases = pl.DataFrame({"case": numbered(len(values)), "video": names.gather(videos)})
    return ScoreMatrix(values, list(models), videos, names.to_list(), cases, FACTS).where(np.arange(len(values)))


def numbered(count: int) -> pl.Series:
    """Names whose order is that of the numbers."""
    return pl.int_range(count, eager=True).cast(pl.String).str.zfill(9)


def _slice_lines(
    matrix: ScoreMatrix, name: Slice, settings: IntervalSettings
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The lines of one slice under both estimands, model by model; findings about the first."""
    slice_ = Rows({} if name[0] == OVERALL else {name[0]: name[1]}, matrix)
    spreads = {one: slice_spread(slice_, settings._replace(estimand=one)) for one in ESTIMANDS}
    lines = [
        _line(matrix, place, name, estimand, _numbers(spread_, place))
        for place in range(len(matrix.models))
        for estimand, spread_ in spreads.items()
    ]
    return lines, of_slice(Rows({}, matrix), spreads["rows"].findings, matrix.models)


def pair_lines(
    frame: pl.DataFrame, values: np.ndarray, answered: Sequence[Sequence[Any]], settings: IntervalSettings
) -> list[pl.DataFrame]:
    """Shares of pairs of questions that differ in the image alone, with intervals over videos; nothing without pairs.

    What is said without looking is right once in each pair whose right answers differ. The others, in which an artefact
    or the centre changes nothing that was asked, are told apart: whether both are right.

    Args:
        frame: The rows of `results`; `pair` names the pair of a question, where there are some.
        values: What each counts as.
        answered: The references, and the answers.
        settings: How intervals are made.
    """
    right, given = (pl.Series(list(map(repr, column))) for column in answered)
    rows = frame.select("video", "pair", value=values, right=right, given=given).drop_nulls("pair")
    kept = pl.first("video"), pl.sum("value"), pl.len(), pl.n_unique("right", "given")
    pairs = rows.group_by("pair", maintain_order=True).agg(*kept).filter(pl.col("value").is_finite(), len=2)
    alike, apart = pairs.filter(right=1), pairs.filter(right=2)
    counts = enumerate(("neither right", "one right", "both right"))
    shares = [(apart, name, apart["value"] == count) for count, name in counts]
    shares += [(apart, "one answer to both", apart["given"] == 1)]
    shares += [(alike, "both right where the answer stays", alike["value"] == 2)]
    lines = []
    for chosen, name, share in shares:
        codes = chosen["video"].rank("dense").to_numpy().astype(np.intp) - 1
        matrix = _matrix(share.cast(pl.Float64).to_numpy()[:, None], codes, [""])
        lines += _slice_lines(matrix, ("pair", name), settings)[0] if chosen.height else []
    return [SUMMARY.frame([{key: held for key, held in line.items() if key != "model"} for line in lines])]


def slice_spread(slice_: Rows, settings: IntervalSettings) -> Spread:
    """The values and intervals of a slice; no ends where nothing can be drawn."""
    try:
        if settings.replicates or not settings.draws:
            return spread(slice_.matrix, settings, slice_.name)
    except TooFewVideos:
        pass
    estimates = spread(slice_.matrix, settings._replace(method=AUTO), slice_.name)
    unknown = np.full(len(estimates.value), np.nan)
    none = ("none",) * len(estimates.value)
    return estimates._replace(low=unknown, high=unknown, df=unknown, method=none, findings=())


def _numbers(estimates: Spread, place: int) -> dict[str, Any]:
    numbers = {"accuracy": estimates.value, "low": estimates.low, "high": estimates.high, "df": estimates.df}
    row = {name: float(column[place]) for name, column in numbers.items()}
    return {
        **row,
        "effective_videos": float(np.nan_to_num(estimates.effective[place])),
        "method": estimates.method[place],
    }


def _line(matrix: ScoreMatrix, place: int, name: Slice, estimand: str, numbers: Mapping[str, Any]) -> dict[str, Any]:
    scored = ~np.isnan(matrix.values[:, place])
    return {
        "model": matrix.models[place],
        "level": name[0],
        "name": name[1],
        "estimand": estimand,
        **numbers,
        "count": int(scored.sum()),
        "videos": len(np.unique(matrix.videos[scored])),
        "not_scored": int((~scored).sum()),
    }


def _headline(
    matrix: ScoreMatrix, buckets: Mapping[str, np.ndarray], names: tuple[Slice, Slice], settings: IntervalSettings
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The mean over buckets, by questions, of every model; where a video fills a bucket alone, also without these."""
    rows = np.concatenate(list(buckets.values()))
    codes = np.repeat(np.arange(len(buckets)), [len(rows) for rows in buckets.values()])
    order = np.argsort(rows, kind="stable")
    inside, codes = matrix.where(rows[order]), codes[order]
    lines: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    board = {} if names[0] == HEADLINE else {"board": "clinical"}
    for model in matrix.models:
        of_model = inside.columns([model])
        more, findings = _bucket_lines(of_model, codes, list(buckets), names, settings)
        lines += more
        whose = {**board, **({"model": model} if len(matrix.models) > 1 else {})}
        spoken += of_slice(Rows(whose, of_model), findings, [model])
    return lines, spoken


def _bucket_lines(
    matrix: ScoreMatrix,
    codes: np.ndarray,
    buckets: Sequence[str],
    names: tuple[Slice, Slice],
    settings: IntervalSettings,
) -> tuple[list[dict[str, Any]], tuple[Finding, ...]]:
    shape = Sample.of(matrix, statistic="mean", resample=settings.resample, estimand="rows")
    statistic = BucketMean(codes[shape.nest.order], len(buckets))
    sample = Sample(shape.values, shape.nest, statistic, "rows")
    if settings.method != AUTO:
        stream = HEADLINE[0] if names[0] == HEADLINE else names[0][1]
        return [_line(matrix, 0, names[0], "rows", _numbers(_drawn(sample, matrix, settings, stream), 0))], ()
    sums = statistic.by_unit(sample.values, row_owners(sample))
    macro, findings = macro_spread(
        lambda weights: statistic.means(weights.astype(np.float64) @ sums),
        sums[:, len(buckets) :],
        np.arange(len(sums)),
        FACTS,
        level=settings.level,
        classes=buckets,
        what="buckets",
    )
    lines = [_macro_line(matrix, names[0], macro.every)]
    if macro.single and macro.repeated.classes:
        kept = ~np.isin(codes, macro.single)
        lines.append(_macro_line(matrix.where(kept), names[1], macro.repeated))
    return lines, findings


def _drawn(sample: Sample, matrix: ScoreMatrix, settings: IntervalSettings, stream: str) -> Spread:
    if settings.replicates and len(matrix.video_names) > 1:
        return sample_spread(sample, settings, stream, FACTS, matrix.models)
    blank = np.full(1, np.nan)
    effective = effective_videos(np.bincount(row_owners(sample)))
    return Spread(sample.point(), blank, blank, blank, blank, np.ones(1), np.array([effective]), ("none",), ())


def _macro_line(matrix: ScoreMatrix, name: Slice, row: MacroRow) -> dict[str, Any]:
    sizes = np.bincount(matrix.videos[np.isfinite(matrix.values[:, 0])], minlength=1)
    numbers = {"accuracy": row.value, "low": row.low, "high": row.high, "df": row.df}
    method = "none" if np.isnan(row.low) else "jackknife by bucket, logit"
    more = {"effective_videos": float(np.nan_to_num(effective_videos(sizes))), "method": method}
    return _line(matrix, 0, name, "rows", {**numbers, **more})


@dataclass(frozen=True)
class BucketMean:
    """The mean over populated buckets of their means, as a statistic of rows in the order of `codes`."""

    codes: np.ndarray
    buckets: int

    @property
    def name(self) -> str:
        """What outputs call it."""
        return "mean over buckets"

    @property
    def is_mean(self) -> bool:
        """It is no mean of rows."""
        return False

    def width(self, values: np.ndarray) -> int:  # noqa: ARG002
        """One value."""
        return 1

    def support(self, values: np.ndarray) -> np.ndarray:
        """`[row, bucket]`: 1 where a row of the bucket is scored."""
        inside = self.codes[:, None] == np.arange(self.buckets)
        return np.asarray(inside & np.isfinite(values), dtype=np.float64)

    def by_unit(self, values: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Right answers and scored rows of each bucket in each unit, `[unit, 2 * bucket]`."""
        scored = np.isfinite(values[:, 0])
        cells, units = owners * self.buckets + self.codes, int(owners.max(initial=-1)) + 1
        weights = (np.where(scored, values[:, 0], 0.0), scored.astype(np.float64))
        sums = [np.bincount(cells, one, minlength=units * self.buckets) for one in weights]
        return np.concatenate([one.reshape(units, self.buckets) for one in sums], axis=1)

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The mean over buckets under each weighting; buckets that it misses are left out."""
        return self.of_sums(counts.astype(np.float64) @ self.summands(values))

    def summands(self, values: np.ndarray) -> np.ndarray:
        """Right answers and scored rows of each bucket."""
        support = self.support(values)
        return np.concatenate([support * np.nan_to_num(values), support], axis=1)

    def means(self, sums: np.ndarray) -> np.ndarray:
        """The mean of every bucket, NaN for one without scored rows."""
        return divided(sums[:, : self.buckets], sums[:, self.buckets :])

    def of_sums(self, sums: np.ndarray) -> np.ndarray:
        """The mean over the buckets that have scored rows."""
        means = self.means(sums)
        there = np.isfinite(means)
        return divided(np.where(there, means, 0.0).sum(axis=1), there.sum(axis=1).astype(np.float64))[:, None]


WORST = 0.0
"""Of correctness."""


class MissingRules(NamedTuple):
    """What becomes of questions without response, and of those without verdict."""

    refuses_absent: bool
    by_status: dict[Status, Rule]

    @classmethod
    def of(cls, given: Missing) -> MissingRules:
        """The rules as a user gives them: `wrong`, `error` (refuse absent responses), and rules of score tables.

        Example:
            >>> MissingRules.of(["error", "not_judged=drop-score"]).by_status[Status.NOT_JUDGED]
            'drop-score'
        """
        words = [given] if isinstance(given, str) else given
        if words is None or isinstance(words, int | float | dict) or not isinstance(words, list | tuple):
            return cls(False, missing_rules(words))
        rest = [word for word in words if word not in ("wrong", "error")]
        return cls("error" in words, missing_rules(rest or None))


class Counted(NamedTuple):
    """Every question as it counts."""

    values: np.ndarray
    """1 right, 0 wrong, NaN left out."""
    blocked: np.ndarray
    """Questions whose rule forbids a mean that contains them."""


def counted(frame: pl.DataFrame, rules: MissingRules) -> Counted:
    """What every row of `results` counts as, under the rule for its status where it has no verdict."""
    values = frame["correctness"].cast(pl.Float64).to_numpy().copy()
    unscored, blocked = np.isnan(values), np.zeros(len(values), dtype=bool)
    for status in frame["status"].filter(pl.Series(unscored)).unique():
        rule, rows = rules.by_status[Status(status)], unscored & (frame["status"] == status).to_numpy()
        if rule == "worst":
            values[rows] = WORST
        elif not isinstance(rule, str):
            values[rows] = rule
        blocked |= rows & (rule == "error")
    return Counted(values, blocked)


def as_counted(frame: pl.DataFrame, values: np.ndarray) -> pl.DataFrame:
    """The results with verdicts as they count, where that is right or wrong."""
    value = pl.lit(pl.Series(values))
    return frame.with_columns(correctness=pl.when(value.is_in([0.0, 1.0])).then(value == 1.0))


def without_blocked(
    summary: pl.DataFrame, slices: dict[tuple[str, str], np.ndarray], blocked: np.ndarray
) -> pl.DataFrame:
    """The summary without the values of slices that hold a blocked question;
    a primary result rests on all its buckets.
    """
    if not blocked.any():
        return summary
    hit = {slice_ for slice_, rows in slices.items() if blocked[rows].any()}
    hit |= {name for board, names in BOARDS.items() if any(level == board for level, _ in hit) for name in names}
    stopped = [pair in hit for pair in summary.select("level", "name").iter_rows()]
    return summary.with_columns(
        pl.when(pl.Series(stopped)).then(math.nan).otherwise(pl.col(name)).alias(name)
        for name in ("accuracy", "low", "high", "df")
    )


def stopped(frame: pl.DataFrame, blocked: np.ndarray) -> list[Finding]:
    """Why there is no primary result, where there is none."""
    if not blocked.any():
        return []
    counts = Counter(frame.filter(pl.Series(blocked))["status"].to_list())
    listed = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
    first = min(counts)
    text = (
        f"no primary result: {int(blocked.sum())} of {frame.height} questions have no verdict ({listed}), and nobody "
        f"said what they count as; judge or ask them again, or pass --missing {first}=worst or {first}=drop-score"
    )
    return [Finding("no-headline", Severity.ERROR, text)]
